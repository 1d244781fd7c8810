//! What is kept of a kernel besides its object: the same in the cache and in artifacts.
//!
//! No number is a float, so that the text of a record is the same whenever it is written.

use serde::{Deserialize, Serialize};

use super::executable::{HostKernel, KernelCode, Site};
use crate::codegen::host::gemm::panels::PanelParameter;
use crate::ir::{DType, FileId, IndexExpr, Loc};

/// A kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelRecord {
    pub name: String,
    /// Symbol of its object; none for a kernel that the interpreter runs.
    pub symbol: Option<String>,
    /// The file with the object; none where it follows, or where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    iterations: IndexExpr,
    scratch_bytes: IndexExpr,
    sites: Vec<SiteRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    panels: Vec<PanelParameter>,
    /// Estimated time of an iteration.
    picoseconds: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteRecord {
    file: String,
    range: [u32; 4],
    message: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values: Vec<DType>,
}

impl KernelRecord {
    /// What is kept of the kernel; `object` names the file that has its code.
    pub fn of(kernel: &HostKernel, object: Option<String>) -> KernelRecord {
        let symbol = match &kernel.code {
            KernelCode::Object { symbol, .. } => Some(symbol.clone()),
            KernelCode::Interpreted => None,
        };
        KernelRecord {
            name: kernel.name.clone(),
            symbol,
            object,
            iterations: kernel.iterations.clone(),
            scratch_bytes: kernel.scratch_bytes.clone(),
            sites: kernel.sites.iter().map(site_record).collect(),
            panels: kernel.panels.clone(),
            picoseconds: (kernel.cost * 1e3).max(0.0) as u64,
        }
    }

    /// The kernel with its code.
    pub fn into_kernel(self, object: Vec<u8>) -> HostKernel {
        let code = match self.symbol {
            Some(symbol) => KernelCode::Object { symbol, bytes: object },
            None => KernelCode::Interpreted,
        };
        HostKernel {
            name: self.name,
            code,
            iterations: self.iterations,
            scratch_bytes: self.scratch_bytes,
            sites: self.sites.into_iter().map(site).collect(),
            panels: self.panels,
            cost: self.picoseconds as f64 / 1e3,
        }
    }
}

fn site_record(site: &Site) -> SiteRecord {
    let Loc { file, line, column, end_line, end_column } = site.loc;
    let range = [line, column, end_line, end_column];
    SiteRecord { file: file.name().to_owned(), range, message: site.message.clone(), values: site.values.clone() }
}

fn site(record: SiteRecord) -> Site {
    let [line, column, end_line, end_column] = record.range;
    let loc = Loc::new(FileId::intern(&record.file), line, column, end_line, end_column);
    Site { loc, message: record.message, values: record.values }
}
