//! Fetching lists, all pages of them.

use super::{Exchange, Peer};
use crate::json::Json;
use crate::obj;

const MOST_PAGES: usize = 1000;
const MOST_ITEMS: usize = 200_000;

/// A list as fetched.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Its items.
    pub items: Vec<Json>,
    /// The exchange of each page.
    pub pages: Vec<Exchange>,
    /// What was wrong with the paging.
    pub fault: Option<String>,
}

impl Listing {
    /// The last exchange: the one that failed, if one did.
    pub fn last(&self) -> Option<&Exchange> {
        self.pages.last()
    }

    /// Whether every page was a result.
    pub fn is_complete(&self) -> bool {
        self.fault.is_none() && self.last().is_some_and(|page| page.result().is_some())
    }
}

impl Peer {
    /// Fetches a list.
    pub async fn list(&mut self, method: &str, member: &str) -> Listing {
        let mut listing = Listing { items: Vec::new(), pages: Vec::new(), fault: None };
        let mut cursors = std::collections::HashSet::new();
        let mut params = Json::object();
        let began = std::time::Instant::now();
        loop {
            let mut page = self.request(method, params).await;
            let (items, cursor) = match page.result() {
                None => {
                    listing.pages.push(page);
                    return listing;
                }
                Some(result) => {
                    (result.get(member).cloned(), result.text_at("nextCursor").map(str::to_string))
                }
            };
            // Its items are kept; the bytes, which may be many, are on the trail.
            page.answer = None;
            listing.pages.push(page);
            match items {
                Some(Json::Array(items)) => listing.items.extend(items),
                _ => listing.fault = Some(format!("the result has no list {member:?}")),
            }
            // Both official clients take an empty cursor for the end.
            let cursor = cursor.filter(|cursor| !cursor.is_empty());
            let Some(cursor) = cursor.filter(|_| listing.fault.is_none()) else {
                return listing;
            };
            if !cursors.insert(cursor.clone()) {
                listing.fault = Some(format!("the cursor {cursor:?} leads in a circle"));
            } else if listing.pages.len() >= MOST_PAGES
                || listing.items.len() >= MOST_ITEMS
                || began.elapsed() > self.options.limits.total
            {
                listing.fault =
                    Some(format!("the list does not end after {} pages", listing.pages.len()));
            }
            if listing.fault.is_some() {
                return listing;
            }
            params = obj! { "cursor": cursor };
        }
    }
}
