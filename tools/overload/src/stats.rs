//! Percentiles, medians and spreads.

/// The value at that part, 0 to 1, of these values; `None` if there are none.
pub fn quantile(values: &mut [f64], part: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let index = ((values.len() as f64 * part).ceil() as usize).saturating_sub(1).min(last);
    Some(*values.select_nth_unstable_by(index, f64::total_cmp).1)
}

/// The middle of these values: the mean of the two middle ones if they are even in
/// number.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The standard deviation of a sample; 0 of fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The two-sided 95 % confidence interval of the mean, by Student's t; `None` of
/// fewer than two values.
pub fn interval95(values: &[f64]) -> Option<(f64, f64)> {
    /// Quantiles at 97.5 % for 1 to 10 degrees of freedom.
    const T: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    let freedom = values.len().checked_sub(1).filter(|&it| it > 0)?;
    let t = T.get(freedom - 1).copied().unwrap_or(2.2);
    let half = t * deviation(values) / (values.len() as f64).sqrt();
    Some((mean(values) - half, mean(values) + half))
}

/// Jain's index of fairness: 1 if all are equal, 1/n if one has everything.
pub fn jain(values: &[f64]) -> f64 {
    let (sum, squares) = (values.iter().sum::<f64>(), values.iter().map(|it| it * it).sum::<f64>());
    if squares == 0.0 { 1.0 } else { sum * sum / (values.len() as f64 * squares) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(&mut values, 0.5), Some(50.0));
        assert_eq!(quantile(&mut values, 0.99), Some(99.0));
        assert_eq!(quantile(&mut values, 1.0), Some(100.0));
        assert_eq!(quantile(&mut [], 0.5), None);
    }

    #[test]
    fn known_values_have_known_medians_and_deviations() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), (32.0_f64 / 7.0).sqrt());
        assert_eq!(deviation(&[1.0]), 0.0);
    }

    #[test]
    fn the_confidence_interval_of_two_values_is_wide() {
        let (lower, upper) = interval95(&[1.0, 2.0]).unwrap();
        assert!((upper - (1.5 + 12.706 * 0.5)).abs() < 1e-9, "{upper}");
        assert!((upper + lower - 3.0).abs() < 1e-9, "{lower}");
        assert_eq!(interval95(&[1.0]), None);
    }

    #[test]
    fn jain_is_1_for_equals_and_the_inverse_of_the_number_for_a_winner() {
        assert_eq!(jain(&[2.0, 2.0, 2.0]), 1.0);
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), 0.25);
    }
}
