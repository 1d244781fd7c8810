//! Rust's operators on tiles, whole tensors and views, with tiles, tensors, views and scalars on either side.

use std::ops;

use half::{bf16, f16};

use super::{Operand, Tile};
use crate::language::tensor::{Tensor, View, ViewMut};
use crate::ops::OpKind;
use crate::ops::reference::{Element, elementwise};

macro_rules! operators {
    ($($Trait:ident $method:ident $AssignTrait:ident $assign:ident $kind:ident;)*) => { $(
        impl<T: Element, const R: usize, B: Operand<T, R>> ops::$Trait<B> for Tile<T, R> {
            type Output = Tile<T, R>;

            #[track_caller]
            fn $method(self, other: B) -> Tile<T, R> {
                Tile::of(elementwise::binary(OpKind::$kind, &self.array(), &other.operand()))
            }
        }

        of_tensors!($Trait $method $kind: &Tensor<T, R>, View<'_, T, R>, &View<'_, T, R>, &ViewMut<'_, T, R>);

        impl<T: Element, const R: usize, B: Operand<T, R>> ops::$AssignTrait<B> for Tile<T, R> {
            #[track_caller]
            fn $assign(&mut self, other: B) {
                *self = Tile::of(elementwise::binary(OpKind::$kind, &self.array(), &other.operand()));
            }
        }

        /// `*y += x`: as `y.set(&*y + x)`.
        impl<T: Element, const R: usize, B: Operand<T, R>> ops::$AssignTrait<B> for Tensor<T, R> {
            #[track_caller]
            fn $assign(&mut self, other: B) {
                let value = elementwise::binary(OpKind::$kind, &(&*self).operand(), &other.operand());
                self.set(Tile::of(value));
            }
        }
    )* };
}

macro_rules! of_tensors {
    ($Trait:ident $method:ident $kind:ident: $($t:ty),*) => { $(
        impl<T: Element, const R: usize, B: Operand<T, R>> ops::$Trait<B> for $t {
            type Output = Tile<T, R>;

            #[track_caller]
            fn $method(self, other: B) -> Tile<T, R> {
                Tile::of(elementwise::binary(OpKind::$kind, &self.operand(), &other.operand()))
            }
        }
    )* };
}

operators! {
    Add add AddAssign add_assign Add;
    Sub sub SubAssign sub_assign Sub;
    Mul mul MulAssign mul_assign Mul;
    Div div DivAssign div_assign Div;
    Rem rem RemAssign rem_assign Rem;
    BitAnd bitand BitAndAssign bitand_assign And;
    BitOr bitor BitOrAssign bitor_assign Or;
    BitXor bitxor BitXorAssign bitxor_assign Xor;
    Shl shl ShlAssign shl_assign Shl;
    Shr shr ShrAssign shr_assign Shr;
}

/// Scalars on the left. One implementation for each type: Rust has none for all types of a trait at once.
macro_rules! scalar_on_the_left {
    ($t:ty: $($Trait:ident $method:ident $kind:ident),*) => { $(
        impl<const R: usize> ops::$Trait<Tile<$t, R>> for $t {
            type Output = Tile<$t, R>;

            #[track_caller]
            fn $method(self, other: Tile<$t, R>) -> Tile<$t, R> {
                let scalar = Operand::<$t, R>::operand(self);
                Tile::of(elementwise::binary(OpKind::$kind, &scalar, &other.array()))
            }
        }

        scalar_and_tensors!($t, $Trait $method $kind:
            &Tensor<$t, R>, View<'_, $t, R>, &View<'_, $t, R>, &ViewMut<'_, $t, R>);
    )* };
}

macro_rules! scalar_and_tensors {
    ($t:ty, $Trait:ident $method:ident $kind:ident: $($Other:ty),*) => { $(
        impl<const R: usize> ops::$Trait<$Other> for $t {
            type Output = Tile<$t, R>;

            #[track_caller]
            fn $method(self, other: $Other) -> Tile<$t, R> {
                let scalar = Operand::<$t, R>::operand(self);
                Tile::of(elementwise::binary(OpKind::$kind, &scalar, &other.operand()))
            }
        }
    )* };
}

macro_rules! numbers_on_the_left {
    ($($t:ty)*) => { $(
        scalar_on_the_left!($t: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem);
    )* };
}

macro_rules! bits_on_the_left {
    ($($t:ty)*) => { $(
        scalar_on_the_left!($t: BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor);
    )* };
}

macro_rules! integers_on_the_left {
    ($($t:ty)*) => { $(
        scalar_on_the_left!($t: Shl shl Shl, Shr shr Shr);
    )* };
}

numbers_on_the_left!(i8 i16 i32 i64 u8 u16 u32 f16 bf16 f32);
bits_on_the_left!(bool i8 i16 i32 i64 u8 u16 u32);
integers_on_the_left!(i8 i16 i32 i64 u8 u16 u32);

macro_rules! prefix_operators {
    ($($Trait:ident $method:ident $kind:ident;)*) => { $(
        impl<T: Element, const R: usize> ops::$Trait for Tile<T, R> {
            type Output = Tile<T, R>;

            #[track_caller]
            fn $method(self) -> Tile<T, R> {
                Tile::of(elementwise::unary(OpKind::$kind, &self.array()))
            }
        }

        prefix_of_tensors!($Trait $method $kind: &Tensor<T, R>, View<'_, T, R>, &View<'_, T, R>, &ViewMut<'_, T, R>);
    )* };
}

macro_rules! prefix_of_tensors {
    ($Trait:ident $method:ident $kind:ident: $($t:ty),*) => { $(
        impl<T: Element, const R: usize> ops::$Trait for $t {
            type Output = Tile<T, R>;

            #[track_caller]
            fn $method(self) -> Tile<T, R> {
                Tile::of(elementwise::unary(OpKind::$kind, &self.operand()))
            }
        }
    )* };
}

prefix_operators! {
    Neg neg Neg;
    Not not Not;
}
