//! The old way to run an artifact's directory, kept for programs that move from it.

use super::error::Result;
use crate::artifact::CompiledProgram;
use crate::config::{DfxOptions, Platform, RunConfig, RunOptions};
use crate::language::DynamicTensor;
use crate::language::argument::CallArguments;
use std::path::Path;

/// Runs the artifact that lies in a directory. What is said explicitly wins over `config`:
///
/// | setting | here | [`CompiledProgram::call_with`] |
/// |---|---|---|
/// | platform | `platform` | the option, where it is set; it must be the artifact's |
/// | `device_id`, `dfx`, `aicpu_thread_num` | the arguments, also where the configuration sets others | the options |
/// | everything else: rings, threads, time limit | `config` | the options |
///
/// # Errors
/// A directory that is no artifact; otherwise as [`CompiledProgram::call_with`].
#[deprecated(
    note = "use `CompiledProgram::from_dir(work_dir)?.call_with(arguments, &config)`, with a configuration that holds \
                     the platform, device and diagnostics, too"
)]
pub fn execute_compiled<A: CallArguments>(
    work_dir: impl AsRef<Path>,
    arguments: A,
    platform: Platform,
    device_id: u32,
    dfx: DfxOptions,
    aicpu_thread_num: Option<u32>,
    config: Option<&RunConfig>,
) -> Result<Vec<DynamicTensor>> {
    CompiledProgram::from_dir(work_dir)?
        .call_with(arguments, merged(platform, device_id, dfx, aicpu_thread_num, config))
}

fn merged(
    platform: Platform,
    device_id: u32,
    dfx: DfxOptions,
    aicpu_thread_num: Option<u32>,
    config: Option<&RunConfig>,
) -> RunOptions {
    let options = config.map(RunConfig::run_options).unwrap_or_default();
    RunOptions { platform: Some(platform), device_id: Some(device_id), aicpu_thread_num, dfx, ..options }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ArgumentDump, RingSizes};

    #[test]
    fn explicit_arguments_win_and_the_rest_is_the_configurations() {
        let rings = RingSizes::All(16);
        let config = RunConfig::builder()
            .platform(Platform::A5Sim)
            .device_id(3u32)
            .aicpu_thread_num(4u32)
            .threads(2usize)
            .ring_task_window(rings)
            .enable_dep_gen(true)
            .build()
            .unwrap();
        let dfx = DfxOptions { enable_dump_args: Some(ArgumentDump::Marked), ..DfxOptions::default() };
        let options = merged(Platform::A2a3, 0, dfx, None, Some(&config));
        assert_eq!((options.platform, options.device_id), (Some(Platform::A2a3), Some(0)));
        assert_eq!((options.dfx, options.aicpu_thread_num), (dfx, None));
        assert_eq!((options.ring_task_window, options.threads), (Some(rings), Some(2)));
        let alone = merged(Platform::Host, 0, DfxOptions::default(), None, None);
        assert_eq!(alone, RunOptions { platform: Some(Platform::Host), device_id: Some(0), ..RunOptions::default() });
    }
}
