//! Promise: a URL of a recipient leads to no private network, by name, by address or by redirect, unless the
//! settings allow it

use claimstream_channels::{ChatChannel, ChatStyle, WebhookChannel, WebhookConfig};
use claimstream_domain::notification::{AddressRule, Channel};
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError};

use crate::{
    message::{LONG, message},
    web_server::{Answer, WebServer},
};

fn config(reach: AddressRule) -> WebhookConfig {
    let (connect_timeout, timeout) = (LONG, LONG);
    WebhookConfig { reach, environment_proxies: false, connect_timeout, timeout, ..WebhookConfig::default() }
}

async fn deliver(reach: AddressRule, to: &str) -> Result<Delivered, DeliveryError> {
    WebhookChannel::new(config(reach)).unwrap().deliver(&message(Channel::Webhook, to)).await
}

fn refused(outcome: Result<Delivered, DeliveryError>) -> String {
    match outcome {
        Err(DeliveryError::Permanent { reason }) => reason,
        other => panic!("not refused for good: {other:?}"),
    }
}

/// The same server, named in every way that leads to this machine.
fn spellings(server: &WebServer) -> Vec<String> {
    let url = server.url("/hook?token=key");
    let hosts =
        ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0"];
    hosts.iter().map(|host| url.replacen("127.0.0.1", host, 1)).collect()
}

/// Guard: a host that is an address is checked | src/http/client.rs `send`: no `judge`
/// Guard: the addresses of a name are checked | src/http/limited_resolver.rs: every address passes
#[tokio::test]
async fn a_recipients_own_url_leads_to_no_private_address_however_it_is_written() {
    let server = WebServer::start([]).await;
    for url in spellings(&server) {
        let reason = refused(deliver(AddressRule::Public, &url).await);
        assert!(reason.contains("may not be called") && reason.contains("allow_private"), "{reason}");
        assert!(!reason.contains("key"), "{reason}");
        let chat = ChatChannel::new(ChatStyle::Slack, config(AddressRule::Public)).unwrap();
        refused(chat.deliver(&message(Channel::Chat, &url)).await);
    }
    assert!(server.received().is_empty(), "nothing was sent");
}

#[tokio::test]
async fn a_network_that_is_opened_can_be_called_by_address_and_by_name() {
    let server = WebServer::start([]).await;
    let opened = "127.0.0.0/8".parse().unwrap();
    for reach in [AddressRule::Private, opened] {
        for url in [server.url("/"), server.url("/").replace("127.0.0.1", "localhost")] {
            deliver(reach.clone(), &url).await.unwrap();
        }
    }
    assert_eq!(server.received().len(), 4);
    let other = deliver("10.0.0.0/8".parse().unwrap(), &server.url("/")).await;
    assert!(
        refused(other).ends_with("127.0.0.1 is the machine itself; allow_private names networks that may")
    );
}

#[tokio::test]
async fn metadata_services_stay_closed_where_private_networks_are_open() {
    for host in ["169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "0xA9FEA9FE"] {
        let reason = refused(deliver(AddressRule::Private, &format!("http://{host}/latest/meta-data")).await);
        assert!(reason.contains("metadata service"), "{reason}");
    }
}

/// Guard: redirects are not followed | src/http/client.rs `builder`: `Policy::limited`
#[tokio::test]
async fn a_redirect_leads_nowhere() {
    let inner = WebServer::start([]).await;
    let location: &'static str = format!("Location: {}", inner.url("/inner")).leak();
    let server = WebServer::start([Answer::Status(307, vec![location].leak())]).await;
    let error = deliver(AddressRule::Private, &server.url("/")).await.unwrap_err();
    assert!(error.to_string().starts_with("HTTP 307"), "{error}");
    assert!(inner.received().is_empty());
}

#[tokio::test]
async fn a_gateway_that_the_operator_named_may_be_anywhere() {
    let server = WebServer::start([]).await;
    let gateway = Some(server.url("/sms").parse().unwrap());
    let channel = WebhookChannel::new(WebhookConfig { gateway, ..config(AddressRule::Public) }).unwrap();
    channel.deliver(&message(Channel::Sms, "+491")).await.unwrap();
    assert_eq!(server.received().len(), 1);
}
