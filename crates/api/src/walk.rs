//! Pages of lists: cut out of a sorted whole, or walked in address order under a time limit.
//!
//! Both kinds go on strictly after a position, whatever happened to the
//! program meanwhile: what was there all along is seen exactly once.

use std::ops::Bound;
use std::time::{Duration, Instant};

use program::{Address, SpaceId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{BridgeError, ErrorCode};
use crate::method::Answer;
use crate::shapes::{Page, PageRequest, ScanKind, ScanPage, ScanProgress, ScanRequest, StopReason};
use crate::view::View;

const DEFAULT_LIMIT: u32 = 100;
const DEFAULT_TIMEOUT_MS: u32 = 1000;

/// A place in a walk: space, offset, and a number that tells apart what is at one address.
pub(crate) type Position = (u16, u64, u64);

/// The position of an address.
pub(crate) fn position(address: Address, within: u64) -> Position {
    (address.space.0, address.offset, within)
}

fn address_of(position: Position) -> Address {
    Address::new(SpaceId(position.0), position.1)
}

/// How the end of a walk is found when the request names none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenEnd {
    /// At the highest address of the space the walk starts in.
    OfSpace,
    /// Nowhere: through all spaces.
    Never,
}

/// A walk that was asked for: where from, where to, how much, how long.
#[derive(Debug)]
pub(crate) struct Walk {
    start: Address,
    end: Option<Address>,
    after: Option<Position>,
    limit: usize,
    started: Instant,
    timeout: Duration,
}

impl Walk {
    /// Reads page and scan of a request.
    pub(crate) fn new(
        view: &View<'_>,
        page: Option<&PageRequest>,
        scan: Option<&ScanRequest>,
        open_end: OpenEnd,
    ) -> Answer<Walk> {
        let range = scan.and_then(|scan| scan.range.as_ref());
        let bound =
            |text: Option<&String>, pointer| text.map(|text| view.bound(text, pointer)).transpose();
        let start = bound(range.and_then(|range| range.start.as_ref()), "/scan/range/start")?;
        let end = bound(range.and_then(|range| range.end.as_ref()), "/scan/range/end")?;
        let timeout = scan.and_then(|scan| scan.timeout_ms);
        let (start, end) = whole(view, start, end, open_end)?;
        Walk::over(view, page, timeout, start, end)
    }

    /// A walk over a range that is known already.
    pub(crate) fn over(
        view: &View<'_>,
        page: Option<&PageRequest>,
        timeout_ms: Option<u32>,
        start: Address,
        end: Option<Address>,
    ) -> Answer<Walk> {
        Ok(Walk {
            start,
            end,
            after: resume(view, page)?,
            limit: limit(page),
            started: Instant::now(),
            timeout: Duration::from_millis(timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS).into()),
        })
    }

    /// Shrinks the walk to where there is something to find, unless the request named a range.
    pub(crate) fn narrow(&mut self, scan: Option<&ScanRequest>, first: Address, last: Address) {
        if scan.is_none_or(|scan| scan.range.is_none()) {
            (self.start, self.end) = (first, Some(last));
        }
    }

    /// The first address of the walk.
    pub(crate) fn first(&self) -> Address {
        self.start
    }

    /// The bounds for tables with one row per address.
    pub(crate) fn addresses(&self) -> (Bound<Address>, Bound<Address>) {
        let start = match self.after.map(address_of) {
            Some(after) if after >= self.start => Bound::Excluded(after),
            _ => Bound::Included(self.start),
        };
        let end = self.last();
        // An empty range, not an inverted one, when everything was visited.
        if matches!(start, Bound::Excluded(after) if after >= end) {
            return (Bound::Excluded(end), Bound::Included(end));
        }
        (start, Bound::Included(end))
    }

    /// The first position that may be visited, and the last address.
    pub(crate) fn positions(&self) -> (Position, Address) {
        let start = position(self.start, 0);
        match self.after {
            Some((space, offset, within)) if (space, offset, within) >= start => {
                let next = match within.checked_add(1) {
                    Some(within) => (space, offset, within),
                    None => (space, offset.saturating_add(1), 0),
                };
                (next, self.last())
            }
            _ => (start, self.last()),
        }
    }

    /// The first address that was not walked over yet; for walks with one row per address.
    pub(crate) fn next_address(&self) -> Option<Address> {
        match self.after.map(address_of) {
            Some(after) if after >= self.start => {
                after.checked_add(1).filter(|next| *next <= self.last())
            }
            _ => (self.start <= self.last()).then_some(self.start),
        }
    }

    /// The last address of the walk.
    pub(crate) fn last(&self) -> Address {
        self.end.unwrap_or(Address::MAX)
    }

    /// Visits candidates in order until the page is full, time is up or none are left.
    /// Every candidate counts as progress, whether it gives a row or not.
    pub(crate) fn run<C, T>(
        self,
        view: &View<'_>,
        candidates: impl Iterator<Item = (Position, C)>,
        mut row: impl FnMut(C) -> Answer<Option<T>>,
    ) -> Answer<ScanPage<T>> {
        let mut items = Vec::new();
        let mut first = None;
        let mut last = None;
        let mut stop = StopReason::Completed;
        for (position, candidate) in candidates {
            first = first.or(Some(position));
            last = Some(position);
            items.extend(row(candidate)?);
            if self.started.elapsed() >= self.timeout || view.cx.cancel.is_cancelled() {
                stop = StopReason::Timeout;
                break;
            }
            if items.len() >= self.limit {
                stop = StopReason::Limit;
                break;
            }
        }
        let next_cursor = match (stop, last) {
            (StopReason::Completed, _) | (_, None) => None,
            (_, Some(last)) => Some(view.query.token(&last)?),
        };
        let scan = Some(self.progress(view, first, last, stop));
        Ok(ScanPage { items, next_cursor, scan })
    }

    fn progress(
        &self,
        view: &View<'_>,
        first: Option<Position>,
        last: Option<Position>,
        stop: StopReason,
    ) -> ScanProgress {
        ScanProgress {
            kind: ScanKind::Address,
            requested_start: Some(view.print(self.start)),
            requested_end: self.end.map(|end| view.print(end)),
            scanned_start: first.map(|first| view.print(address_of(first))),
            scanned_end: last.map(|last| view.print(address_of(last))),
            complete: stop == StopReason::Completed,
            stop_reason: stop,
            elapsed_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Both bounds, with what a request leaves out filled in.
fn whole(
    view: &View<'_>,
    start: Option<Address>,
    end: Option<Address>,
    open_end: OpenEnd,
) -> Answer<(Address, Option<Address>)> {
    let bounds = view.program.memory.bounds();
    let start = match (start, end) {
        (Some(start), _) => start,
        // A range that only has an end begins where its space does.
        (None, Some(end)) if end.space != SpaceId::RAM => Address::new(end.space, 0),
        (None, _) => bounds.map_or(Address::ram(0), |(low, _)| low),
    };
    match end {
        Some(end) if end.space != start.space => {
            let message = "start and end lie in different address spaces; give both in one space";
            Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/scan/range/end"))
        }
        Some(end) if end < start => {
            let message = "the range ends before it starts; give the lower address as start";
            Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/scan/range/end"))
        }
        Some(end) => Ok((start, Some(end))),
        None if open_end == OpenEnd::Never => Ok((start, None)),
        None => {
            let high = bounds.map(|(_, high)| high);
            let of_space =
                view.program.spaces.get(start.space).map_or(u64::MAX, |s| s.max_offset());
            let end = high
                .filter(|high| high.space == start.space && *high >= start)
                .unwrap_or(Address::new(start.space, of_space));
            Ok((start, Some(end)))
        }
    }
}

/// Rows per page.
fn limit(page: Option<&PageRequest>) -> usize {
    page.and_then(|page| page.limit).unwrap_or(DEFAULT_LIMIT) as usize
}

/// Where the page before ended.
fn resume<K: DeserializeOwned>(view: &View<'_>, page: Option<&PageRequest>) -> Answer<Option<K>> {
    let token = page.and_then(|page| page.cursor.as_ref());
    token.map(|token| view.query.position(token)).transpose()
}

/// Cuts one page out of rows that are all known. `keys` must be unique; rows of equal key
/// would be lost between pages.
pub(crate) fn paginate<K, C, T>(
    view: &View<'_>,
    page: Option<&PageRequest>,
    mut rows: Vec<(K, C)>,
    mut row: impl FnMut(C) -> T,
) -> Answer<Page<T>>
where
    K: Ord + Serialize + DeserializeOwned,
{
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    let after: Option<K> = resume(view, page)?;
    let from = after.map_or(0, |after| rows.partition_point(|(key, _)| *key <= after));
    let to = rows.len().min(from.saturating_add(limit(page)));
    let next_cursor = match rows.get(to.wrapping_sub(1)) {
        Some((last, _)) if to < rows.len() => Some(view.query.token(last)?),
        _ => None,
    };
    let items = rows.drain(from..to).map(|(_, candidate)| row(candidate)).collect();
    Ok(Page { items, next_cursor })
}
