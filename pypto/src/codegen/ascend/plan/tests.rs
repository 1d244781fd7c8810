//! Plans of random kernels hold before the checker of overlaps, which shares nothing with the planner.

use super::{Planner, find, plan};
use crate::codegen::ascend::dialect::types::Order;
use crate::codegen::ascend::dialect::{Core, Function, Inst, Kind, Literal, TileAttr, TileOp, TileTy, Ty, Value};
use crate::codegen::ascend::overlap;
use crate::ir::DType;
use crate::target::{A2A3, Space};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

struct Kernel {
    function: Function,
    rows: Value,
    number: Value,
    random: Random,
}

impl Kernel {
    fn new(seed: u64) -> Kernel {
        let mut function = Function {
            name: "random".into(),
            core: Core::Vector,
            params: Vec::new(),
            values: Vec::new(),
            body: Vec::new(),
        };
        let rows = function.add("rows".into(), Ty::Index);
        let number = function.add("number".into(), Ty::Scalar(DType::F32));
        for (result, literal) in [(rows, Literal::Int(8)), (number, Literal::Float(1.0))] {
            function.body.push(Inst { kind: Kind::Constant { result, literal }, place: None });
        }
        Kernel { function, rows, number, random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1) }
    }

    fn alloc(&mut self, body: &mut Vec<Inst>) -> Value {
        let rows = [8, 16, 64][self.random.below(3)];
        let name = format!("t{}", self.function.values.len());
        let result = self.function.add(name, Ty::Tile(TileTy::vector(DType::F32, rows, 64, Order::Row)));
        let valid = [self.rows, self.rows];
        body.push(Inst { kind: Kind::Alloc { result, address: None, valid }, place: None });
        result
    }

    fn tile(&mut self, op: TileOp, ins: &[Value], body: &mut Vec<Inst>) -> Value {
        let out = self.alloc(body);
        body.push(Inst { kind: Kind::Tile { op, ins: ins.to_vec(), attr: TileAttr::None, out }, place: None });
        out
    }

    /// Straight-line code and loops over the tiles in scope.
    fn body(&mut self, scope: &mut Vec<Value>, depth: usize) -> Vec<Inst> {
        let mut body = Vec::new();
        for _ in 0..4 + self.random.below(10) {
            let made = match self.random.below(6) {
                0 if depth < 2 => {
                    let mut inner = scope.clone();
                    let nested = self.body(&mut inner, depth + 1);
                    let name = format!("i{}", self.function.values.len());
                    let index = self.function.add(name, Ty::Index);
                    let (lower, carried, yields) = (self.rows, Vec::new(), Vec::new());
                    let kind = Kind::For { index, lower, upper: lower, step: lower, carried, body: nested, yields };
                    body.push(Inst { kind, place: None });
                    continue;
                }
                1 | 2 if scope.len() > 1 => {
                    let pair = [scope[self.random.below(scope.len())], scope[self.random.below(scope.len())]];
                    self.tile(TileOp::Add, &pair, &mut body)
                }
                3 if !scope.is_empty() => {
                    let x = scope[self.random.below(scope.len())];
                    self.tile(TileOp::Recip, &[x], &mut body)
                }
                _ => self.tile(TileOp::Fill, &[self.number], &mut body),
            };
            scope.push(made);
        }
        body
    }
}

#[test]
fn plans_hold() {
    let mut smaller = 0;
    for seed in 1..200 {
        let mut kernel = Kernel::new(seed);
        let body = kernel.body(&mut Vec::new(), 0);
        kernel.function.body.extend(body);
        let mut tops = Vec::new();
        for planner in [Planner::FirstFit, Planner::Packed] {
            let mut function = kernel.function.clone();
            match plan(&mut function, &A2A3, planner) {
                Ok(plan) => {
                    overlap::check(&function).unwrap_or_else(|e| panic!("seed {seed}, {planner:?}: {e}"));
                    tops.push(plan.used.get(&Space::Vec).copied().unwrap_or(0));
                }
                Err(problem) => assert!(problem.to_string().contains("needs"), "{problem}"),
            }
        }
        if let [first_fit, packed] = tops[..] {
            assert!(packed <= first_fit);
            smaller += usize::from(packed < first_fit);
        }
    }
    assert!(smaller > 0, "no order is better than that of the program");
}

#[test]
fn overflow_names_what_lives_together() {
    let mut kernel = Kernel::new(1);
    let mut body = Vec::new();
    let tiles: Vec<Value> = (0..16).map(|_| kernel.tile(TileOp::Fill, &[kernel.number], &mut body)).collect();
    for tile in &tiles {
        let mut ty = kernel.function.tile(*tile).unwrap().clone();
        ty.rows = 64;
        kernel.function.values[tile.0 as usize].ty = Ty::Tile(ty);
    }
    for pair in tiles.windows(2) {
        kernel.tile(TileOp::Recip, &pair[..1], &mut body);
    }
    kernel.function.body.extend(body);
    let problem = find(&kernel.function, &A2A3, Planner::Packed).unwrap_err();
    let text = problem.to_string();
    assert!(text.contains("target `a2a3` has 188416"), "{text}");
    assert!(text.contains("64 x 64 of f32, 16384 bytes"), "{text}");
    assert!(problem.helps[0].contains("rows fit"), "{text}");
}
