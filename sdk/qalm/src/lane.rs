//! The way of one caller to one endpoint: everything that is known of it before
//! a request comes, looked up once a request.

use std::sync::Arc;

use plimsoll_shedding::policy::Class;
use plimsoll_shedding::request::CallerIndex;

use crate::figures::LaneFigures;

#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) caller: CallerIndex,
    pub(crate) class: Class,
    pub(crate) figures: Arc<LaneFigures>,
}
