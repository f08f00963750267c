//! Who the load pretends to be.

use std::str::FromStr;

/// The greatest number of callers in one plan.
pub const MAX_CALLERS: usize = 1000;

/// One caller of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    /// Sent as `rpc-caller`; visible ASCII.
    pub name: String,
    /// Criticality, 1 (core infrastructure) to 4 (internal and test traffic).
    pub level: u8,
    /// Its part of the requests, relative to the other callers'; above zero.
    pub share: f64,
}

/// Reads `name=level:share`, e.g. `checkout=2:50`.
impl FromStr for Caller {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let say =
            |why: &str| format!("{text:?}: {why}; write name=level:share as in checkout=2:50");
        let (name, rest) = text.rsplit_once('=').ok_or_else(|| say("there is no '='"))?;
        let (level, share) = rest.split_once(':').ok_or_else(|| say("there is no share"))?;
        let level = level.parse().map_err(|_| say("the level is not a number"))?;
        let share = share.strip_suffix('%').unwrap_or(share);
        let share = share.parse().map_err(|_| say("the share is not a number"))?;
        let caller = Self { name: name.to_owned(), level, share };
        caller.check().map_err(|why| say(&why))?;
        Ok(caller)
    }
}

impl Caller {
    /// What is wrong with it, if anything.
    pub(crate) fn check(&self) -> Result<(), String> {
        let is_visible = self.name.bytes().all(|byte| byte.is_ascii_graphic());
        if self.name.is_empty() || self.name.len() > 200 || !is_visible {
            return Err("a name is 1 to 200 visible ASCII characters".into());
        }
        if !(1..=4).contains(&self.level) {
            return Err("a level is 1, 2, 3 or 4".into());
        }
        if !(self.share.is_finite() && self.share > 0.0) {
            return Err("a share is above zero".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_level_and_share_are_read() {
        let caller = Caller { name: "checkout".into(), level: 2, share: 50.0 };
        assert_eq!("checkout=2:50".parse(), Ok(caller.clone()));
        assert_eq!("checkout=2:50%".parse(), Ok(caller));
        assert_eq!("a=b=1:0.5".parse::<Caller>().unwrap().name, "a=b");
    }

    #[test]
    fn what_is_wrong_is_said_with_an_example() {
        for (text, why) in [
            ("checkout", "there is no '='"),
            ("checkout=2", "there is no share"),
            ("checkout=high:5", "the level is not a number"),
            ("checkout=5:5", "a level is 1, 2, 3 or 4"),
            ("checkout=2:lots", "the share is not a number"),
            ("checkout=2:0", "a share is above zero"),
            ("checkout=2:NaN", "a share is above zero"),
            ("=2:5", "a name is"),
            ("a b=2:5", "a name is"),
        ] {
            let said = text.parse::<Caller>().unwrap_err();
            assert!(said.contains(why) && said.contains("checkout=2:50"), "{said}");
        }
    }
}
