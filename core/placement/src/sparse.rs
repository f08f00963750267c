//! Values for a few of many: found by index at once, forgotten in as many steps as
//! there are values, so that the room can be used again and again.

use std::num::NonZeroU32;

#[derive(Clone, Debug)]
pub(crate) struct Sparse<T> {
    /// By index: where in the values it is.
    places: Vec<Option<NonZeroU32>>,
    values: Vec<(u32, T)>,
}

impl<T> Sparse<T> {
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let place = self.places.get(index as usize).copied().flatten()?;
        Some(&self.values[place.get() as usize - 1].1)
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        let place = self.places.get(index as usize).copied().flatten()?;
        Some(&mut self.values[place.get() as usize - 1].1)
    }

    /// What is there, or what is put there now.
    pub(crate) fn get_or_insert_with(&mut self, index: u32, value: impl FnOnce() -> T) -> &mut T {
        if index as usize >= self.places.len() {
            self.places.resize(index as usize + 1, None);
        }
        let place = match self.places[index as usize] {
            Some(place) => place.get() as usize - 1,
            None => {
                self.values.push((index, value()));
                self.places[index as usize] = NonZeroU32::new(self.values.len() as u32);
                self.values.len() - 1
            }
        };
        &mut self.values[place].1
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// In the order in which they came.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &T)> {
        self.values.iter().map(|(index, value)| (*index, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.values.iter_mut().map(|(index, value)| (*index, value))
    }

    /// Everything, so that nothing is there any more.
    pub(crate) fn drain(&mut self) -> impl ExactSizeIterator<Item = (u32, T)> {
        for (index, _) in &self.values {
            self.places[*index as usize] = None;
        }
        self.values.drain(..)
    }
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self { places: Vec::new(), values: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_until_all_are_drained() {
        let mut sparse = Sparse::default();
        *sparse.get_or_insert_with(7, || 1) += 1;
        *sparse.get_or_insert_with(7, || 100) += 1;
        sparse.get_or_insert_with(2, || 9);
        assert_eq!(
            (sparse.get(7), sparse.get(2), sparse.get(3), sparse.get(99)),
            (Some(&3), Some(&9), None, None)
        );
        assert_eq!(sparse.drain().collect::<Vec<_>>(), [(7, 3), (2, 9)]);
        assert_eq!((sparse.get(7), sparse.len()), (None, 0));
        assert_eq!(*sparse.get_or_insert_with(2, || 4), 4);
    }
}
