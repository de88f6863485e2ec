/// The accounts of the payer and the payee, with one piece of each kind of money at stake.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Books {
    /// Points and balance of the payer, points and balance of the payee.
    accounts: [i8; 4],
    /// Past: what came in from outside.
    topped_up: i8,
    /// Past: what has left to the outside.
    spent: i8,
}

/// The account that each step touches, and whether it takes or gives.
const EFFECTS: [(usize, i8); 4] = [(0, -1), (1, -1), (2, 1), (3, 1)];

impl Books {
    /// The payer has enough points, and not enough balance.
    pub(super) fn opened() -> Self {
        Self { accounts: [1, 0, 0, 0], topped_up: 0, spent: 0 }
    }

    /// Whether the step would leave no balance negative.
    pub(super) fn suffice(&self, step: usize) -> bool {
        let (account, amount) = EFFECTS[step];
        self.accounts[account] + amount >= 0
    }

    pub(super) fn book(&mut self, step: usize) {
        let (account, amount) = EFFECTS[step];
        self.accounts[account] += amount;
    }

    pub(super) fn take_back(&mut self, step: usize) {
        let (account, amount) = EFFECTS[step];
        self.accounts[account] -= amount;
    }

    /// Another piece of balance for the payer, once.
    pub(super) fn top_up(&mut self) -> bool {
        let first = self.topped_up == 0;
        if first {
            self.accounts[1] += 1;
            self.topped_up += 1;
        }
        first
    }

    /// The payee's points go elsewhere.
    pub(super) fn spend(&mut self) -> bool {
        let has = self.accounts[2] > 0;
        if has {
            self.accounts[2] -= 1;
            self.spent += 1;
        }
        has
    }

    /// Whether as much is there as was in the beginning, but for what came in and what left.
    pub(super) fn balance(&self) -> bool {
        let [points, balance, payee_points, payee_balance] = self.accounts;
        points + payee_points + self.spent == 1 && balance + payee_balance == self.topped_up
    }

    pub(super) fn are_above_water(&self) -> bool {
        self.accounts.iter().all(|amount| *amount >= 0)
    }
}
