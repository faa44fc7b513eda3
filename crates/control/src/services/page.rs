//! `Page`: which part of a list is wanted.

/// `Debug` is part of the digest that a page of tools goes by: two pages never print alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub limit: usize,
    /// The last entry of the page before, by what the list is sorted by.
    pub after: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Paged<T> {
    pub items: Vec<T>,
    /// In the whole list.
    pub total: usize,
    /// Where the next page begins: the place of the last entry of this one; none on the last page.
    pub next: Option<String>,
}
