//! Index expressions as polynomials over values, with integer coefficients.
//!
//! Offsets, extents and loop bounds of kernels are sums of products of loop indices, parameters and constants, so that
//! two equal expressions become the same polynomial. A value that is no such sum stands for itself.
//!
//! Coefficients never wrap: an operation that would leave `i64` gives `None`, and the caller keeps the value as it is.

use std::collections::BTreeMap;

use crate::ir::ValueId;

/// A product of values, sorted; the empty product is one.
pub type Monomial = Vec<ValueId>;

/// A sum of monomials with coefficients that are not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Affine {
    terms: BTreeMap<Monomial, i64>,
}

impl Affine {
    /// A constant.
    pub fn constant(n: i64) -> Affine {
        let mut terms = BTreeMap::new();
        if n != 0 {
            terms.insert(Vec::new(), n);
        }
        Affine { terms }
    }

    /// A value by itself.
    pub fn value(v: ValueId) -> Affine {
        Affine { terms: BTreeMap::from([(vec![v], 1)]) }
    }

    /// The number, where the expression has no values in it.
    pub fn as_constant(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// Monomials with their coefficients, the constant first.
    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, i64)> {
        self.terms.iter().map(|(m, c)| (m, *c))
    }

    /// Every value that occurs, each once.
    pub fn values(&self) -> Vec<ValueId> {
        let mut values: Vec<ValueId> = self.terms.keys().flatten().copied().collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Whether `v` occurs.
    pub fn mentions(&self, v: ValueId) -> bool {
        self.terms.keys().any(|m| m.contains(&v))
    }

    /// The sum.
    pub fn add(&self, other: &Affine) -> Option<Affine> {
        self.add_scaled(other, 1)
    }

    /// The difference.
    pub fn sub(&self, other: &Affine) -> Option<Affine> {
        self.add_scaled(other, -1)
    }

    /// `self + factor * other`.
    pub fn add_scaled(&self, other: &Affine, factor: i64) -> Option<Affine> {
        let mut terms = self.terms.clone();
        for (monomial, coefficient) in &other.terms {
            let added = coefficient.checked_mul(factor)?;
            let sum = terms.get(monomial).copied().unwrap_or(0).checked_add(added)?;
            if sum == 0 {
                terms.remove(monomial);
            } else {
                terms.insert(monomial.clone(), sum);
            }
        }
        Some(Affine { terms })
    }

    /// The product; `None` also where it would have a monomial of more than four values, which proves nothing.
    pub fn mul(&self, other: &Affine) -> Option<Affine> {
        let mut product = Affine::default();
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut monomial: Monomial = a.iter().chain(b).copied().collect();
                if monomial.len() > 4 {
                    return None;
                }
                monomial.sort_unstable();
                let term = Affine { terms: BTreeMap::from([(monomial, 1)]) };
                product = product.add_scaled(&term, x.checked_mul(*y)?)?;
            }
        }
        Some(product)
    }

    /// `(c, r)` with `self = c * v + r`, neither of which mentions `v`; `None` where `v` occurs squared.
    pub fn split(&self, v: ValueId) -> Option<(Affine, Affine)> {
        let (mut factor, mut rest) = (Affine::default(), Affine::default());
        for (monomial, coefficient) in &self.terms {
            match monomial.iter().filter(|x| **x == v).count() {
                0 => {
                    rest.terms.insert(monomial.clone(), *coefficient);
                }
                1 => {
                    let others = monomial.iter().filter(|x| **x != v).copied().collect();
                    factor.terms.insert(others, *coefficient);
                }
                _ => return None,
            }
        }
        Some((factor, rest))
    }

    /// The expression with `replacement` in the place of `v`.
    pub fn substitute(&self, v: ValueId, replacement: &Affine) -> Option<Affine> {
        let (factor, rest) = self.split(v)?;
        factor.mul(replacement)?.add(&rest)
    }
}

impl From<i64> for Affine {
    fn from(n: i64) -> Affine {
        Affine::constant(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(n: u32) -> Affine {
        Affine::value(ValueId(n))
    }

    #[test]
    fn equal_expressions_are_the_same_polynomial() {
        let a = v(0).add(&1.into()).unwrap().mul(&v(1)).unwrap();
        let b = v(0).mul(&v(1)).unwrap().add(&v(1)).unwrap();
        assert_eq!(a, b);
        assert_eq!(a.sub(&b).unwrap().as_constant(), Some(0));
    }

    #[test]
    fn splitting_and_substituting() {
        let e = v(0).mul(&v(1)).unwrap().add(&v(0)).unwrap().add(&7.into()).unwrap();
        let (factor, rest) = e.split(ValueId(0)).unwrap();
        assert_eq!(factor, v(1).add(&1.into()).unwrap());
        assert_eq!(rest.as_constant(), Some(7));
        let at_three = e.substitute(ValueId(0), &3.into()).unwrap();
        assert_eq!(at_three, v(1).mul(&3.into()).unwrap().add(&10.into()).unwrap());
        assert_eq!(v(0).mul(&v(0)).unwrap().split(ValueId(0)), None);
    }

    #[test]
    fn overflow_is_no_answer() {
        assert_eq!(Affine::constant(i64::MAX).add(&1.into()), None);
        assert_eq!(Affine::constant(i64::MAX).mul(&2.into()), None);
    }
}
