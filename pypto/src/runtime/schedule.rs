//! Task schedules: which kernels run, with which arguments, and which waits for which.
//!
//! An edge stands wherever two tasks touch overlapping boxes of one tensor and at least one writes: read after write,
//! write after write and write after read. Order of tasks is program order, so running them one by one is always right.

use super::region::View;
use super::touched::Touched;

/// One word of a kernel's argument list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Known when the schedule was made.
    Const(u64),
    /// A scalar parameter of the program, as it is.
    Scalar(usize),
    /// Byte offset in a tensor parameter of the program.
    Param(usize, usize),
    /// Byte offset in a temporary: number 0 is the workspace of a schedule that is kept; a schedule that depends on data
    /// has one for each allocation.
    Temp(usize, usize),
}

/// A kernel call of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Index of the kernel.
    pub kernel: usize,
    /// Its argument words: a range of [`Schedule::words`].
    pub words: (usize, usize),
    /// Tasks that wait for it: a range of [`Schedule::successors`].
    pub successors: (usize, usize),
    /// How many tasks it waits for.
    pub waits: u32,
}

/// Tasks in program order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    pub tasks: Vec<Task>,
    pub words: Vec<Word>,
    pub successors: Vec<u32>,
    /// Bytes of temporaries.
    pub workspace: usize,
    /// Words of the program's argument list that the schedule was made for: index and value.
    pub made_for: Vec<(usize, u64)>,
}

/// How a task uses a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Read,
    Write,
}

/// Collects tasks and finds their edges.
#[derive(Default)]
pub struct ScheduleBuilder {
    schedule: Schedule,
    touched: Touched,
    /// `(from, to)`, where `from < to`.
    edges: Vec<(u32, u32)>,
}

impl ScheduleBuilder {
    /// Adds a task and returns its number. `after` are tasks that it waits for whatever they touch.
    pub fn task(&mut self, kernel: usize, words: &[Word], uses: &[(&View, Use)], after: &[u32]) -> u32 {
        let number = self.schedule.tasks.len() as u32;
        let start = self.schedule.words.len();
        self.schedule.words.extend_from_slice(words);
        let words = (start, self.schedule.words.len());
        self.schedule.tasks.push(Task { kernel, words, successors: (0, 0), waits: 0 });
        self.edges.extend(after.iter().map(|event| (*event, number)));
        let ScheduleBuilder { touched, edges, .. } = self;
        for (view, usage) in uses {
            touched.conflicts(number, view, *usage, |earlier| edges.push((earlier, number)));
        }
        for (view, usage) in uses {
            touched.add(number, view, *usage);
        }
        number
    }

    /// Adds bytes to the workspace and returns their offset.
    pub fn reserve(&mut self, bytes: usize) -> Option<usize> {
        let start = self.schedule.workspace;
        let end = start.checked_add(bytes)?.checked_next_multiple_of(super::scratch::ALIGNMENT)?;
        self.schedule.workspace = end;
        Some(start)
    }

    /// Number of tasks so far.
    pub fn len(&self) -> usize {
        self.schedule.tasks.len()
    }

    /// The schedule, with edges sorted by the task that they leave.
    pub fn finish(mut self, made_for: Vec<(usize, u64)>) -> Schedule {
        self.edges.sort_unstable();
        self.edges.dedup();
        let mut next = self.edges.as_slice();
        for number in 0..self.schedule.tasks.len() {
            let count = next.partition_point(|(from, _)| *from as usize == number);
            let start = self.schedule.successors.len();
            self.schedule.successors.extend(next[..count].iter().map(|(_, to)| *to));
            self.schedule.tasks[number].successors = (start, start + count);
            next = &next[count..];
        }
        for (_, to) in &self.edges {
            self.schedule.tasks[*to as usize].waits += 1;
        }
        self.schedule.made_for = made_for;
        self.schedule
    }
}

impl Schedule {
    /// The argument words of a task.
    pub fn words_of(&self, task: &Task) -> &[Word] {
        &self.words[task.words.0..task.words.1]
    }

    /// The tasks that wait for a task.
    pub fn successors_of(&self, task: &Task) -> &[u32] {
        &self.successors[task.successors.0..task.successors.1]
    }
}

#[cfg(test)]
mod tests {
    use super::super::region::Base;
    use super::*;

    fn edges(schedule: &Schedule) -> Vec<(usize, u32)> {
        let tasks = schedule.tasks.iter().enumerate();
        tasks.flat_map(|(from, task)| schedule.successors_of(task).iter().map(move |to| (from, *to))).collect()
    }

    #[test]
    fn edges_follow_overlap_and_direction() {
        let x = View::root(Base::Param(0), 4, &[8, 8]);
        let y = View::root(Base::Param(1), 4, &[8, 8]);
        let upper = y.view(&[0, 0], &[4, 8]).unwrap();
        let lower = y.view(&[4, 0], &[4, 8]).unwrap();
        let mut builder = ScheduleBuilder::default();
        builder.task(0, &[], &[(&x, Use::Read), (&upper, Use::Write)], &[]);
        builder.task(0, &[], &[(&x, Use::Read), (&lower, Use::Write)], &[]);
        builder.task(1, &[], &[(&y, Use::Read)], &[]);
        builder.task(0, &[], &[(&upper, Use::Write)], &[]);
        builder.task(2, &[], &[], &[1]);
        let schedule = builder.finish(Vec::new());
        assert_eq!(edges(&schedule), [(0, 2), (0, 3), (1, 2), (1, 4), (2, 3)]);
        assert_eq!(schedule.tasks.iter().map(|t| t.waits).collect::<Vec<_>>(), [0, 0, 2, 2, 1]);
    }

    #[test]
    fn a_task_does_not_wait_for_itself() {
        let x = View::root(Base::Temp(0), 4, &[8]);
        let mut builder = ScheduleBuilder::default();
        builder.task(0, &[], &[(&x, Use::Read), (&x, Use::Write)], &[]);
        builder.task(0, &[], &[(&x, Use::Read), (&x, Use::Write)], &[]);
        assert_eq!(edges(&builder.finish(Vec::new())), [(0, 1)]);
    }

    /// The numbers 0 to `below`, in an order that looks random.
    fn numbers(mut state: u64) -> impl FnMut(i64) -> i64 {
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % below as u64) as i64
        }
    }

    /// Tasks that touch boxes of two tensors wait for those that a comparison of all pairs finds, directly or through others.
    #[test]
    fn every_conflict_is_found() {
        for seed in 0..60 {
            let (mut number, mut builder, mut all) = (numbers(seed), ScheduleBuilder::default(), Vec::new());
            let roots = [0, 1].map(|index| View::root(Base::Param(index), 4, &[12, 10]));
            for task in 0..40u32 {
                let uses: Vec<(View, Use)> = (0..1 + number(3))
                    .map(|_| {
                        let at = [number(12), number(10)];
                        let dims = [1 + number(12 - at[0]), 1 + number(10 - at[1])];
                        let view = roots[number(2) as usize].view(&at, &dims).unwrap();
                        (view, if number(2) == 0 { Use::Read } else { Use::Write })
                    })
                    .collect();
                builder.task(0, &[], &uses.iter().map(|(view, usage)| (view, *usage)).collect::<Vec<_>>(), &[]);
                all.extend(uses.into_iter().map(|(view, usage)| (task, view, usage)));
            }
            // Which tasks each one waits for, through others or not.
            let mut waits = vec![vec![false; 40]; 40];
            for (from, to) in edges(&builder.finish(Vec::new())) {
                let before: Vec<usize> = (0..40).filter(|task| *task == from || waits[from][*task]).collect();
                before.into_iter().for_each(|task| waits[to as usize][task] = true);
            }
            for (later, b, b_usage) in &all {
                for (earlier, a, a_usage) in all.iter().filter(|(earlier, ..)| earlier < later) {
                    let writes = *a_usage == Use::Write || *b_usage == Use::Write;
                    let conflict = writes && a.base == b.base && a.region.overlaps(&b.region);
                    assert!(
                        !conflict || waits[*later as usize][*earlier as usize],
                        "{earlier} before {later} ({seed})"
                    );
                }
            }
        }
    }

    /// Ten thousand tasks on blocks of rows, each reading the whole of another tensor, and one that reads them all.
    #[test]
    fn many_tasks_are_not_compared_pair_by_pair() {
        const TASKS: i64 = 10_000;
        let whole = View::root(Base::Param(0), 4, &[64, 64]);
        let rows = View::root(Base::Param(1), 4, &[TASKS * 2, 16]);
        let mut builder = ScheduleBuilder::default();
        for round in 0..2 {
            for task in 0..TASKS {
                let block = rows.view(&[task * 2, 0], &[2, 16]).unwrap();
                builder.task(0, &[], &[(&whole, Use::Read), (&block, Use::Write)], &[]);
            }
            builder.task(1, &[], &[(&rows, Use::Read)], &[]);
            assert!(builder.touched.compared < (round + 1) * 10 * TASKS as usize, "{}", builder.touched.compared);
        }
        let schedule = builder.finish(Vec::new());
        assert_eq!(schedule.tasks.len(), 2 * (TASKS as usize + 1));
        // Each block waits for the block before and for the reader of all.
        assert_eq!(edges(&schedule).len(), 4 * TASKS as usize);
    }
}
