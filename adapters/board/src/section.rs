use crate::stores::BoardStores;

/// A part of the board that every page links to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Section {
    pub(crate) path: &'static str,
    pub(crate) name: &'static str,
}

impl Section {
    /// The sections that these stores can fill, in the order in which they are shown.
    pub(crate) fn all(stores: &BoardStores) -> Vec<Self> {
        let mut all = vec![Self { path: "/", name: "Queues" }, Self { path: "/dead", name: "Dead letters" }];
        if stores.messages().is_some() {
            all.push(Self { path: "/find", name: "Find" });
        }
        if stores.notifications().is_some() {
            all.push(Self { path: "/requests", name: "Requests" });
        }
        if stores.runs.is_some() {
            let runs = [("/sagas", "Sagas"), ("/tcc", "TCC"), ("/timers", "Timers")];
            all.extend(runs.map(|(path, name)| Self { path, name }));
        }
        all.extend(stores.holders.is_some().then_some(Self { path: "/instances", name: "Instances" }));
        all.extend(stores.check.as_ref().map(|_| Self { path: "/doctor", name: "Doctor" }));
        all.extend(stores.audit.as_ref().map(|_| Self { path: "/audit", name: "Audit" }));
        all
    }
}
