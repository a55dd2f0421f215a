//! The table of medians, with the ratio of every other contender to the first.

use std::collections::BTreeMap;

use crate::Contender;
use crate::figures::{Figures, median};

#[derive(Debug)]
pub(crate) struct Table {
    names: Vec<String>,
    /// In the order in which they were first measured.
    figures: Vec<&'static str>,
    values: BTreeMap<(&'static str, String), Vec<f64>>,
}

impl Table {
    pub(crate) fn new(contenders: &[Contender]) -> Self {
        let names = contenders.iter().map(|it| it.name.clone()).collect();
        Self { names, figures: Vec::new(), values: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, name: &str, figures: Figures) {
        for (figure, value) in figures.0 {
            if !self.figures.contains(&figure) {
                self.figures.push(figure);
            }
            self.values.entry((figure, name.to_owned())).or_default().push(value);
        }
    }

    #[expect(clippy::print_stdout, reason = "the table is what the bench is for")]
    pub(crate) fn print(&mut self) {
        let mut head = format!("| {:<34} |", "median");
        let mut rule = format!("|{:-<36}|", "");
        for (idx, name) in self.names.iter().enumerate() {
            head += &format!(" {name:>16} |");
            rule += &format!("{:->18}|", ":");
            if idx > 0 {
                head += &format!(" {:>7} |", "ratio");
                rule += &format!("{:->9}|", ":");
            }
        }
        println!("{head}\n{rule}");
        for figure in self.figures.clone() {
            println!("{}", self.row(figure));
        }
    }

    fn row(&mut self, figure: &'static str) -> String {
        let mut row = format!("| {figure:<34} |");
        let mut first = None;
        for name in &self.names {
            let Some(values) = self.values.get_mut(&(figure, name.clone())) else { continue };
            let value = median(values);
            row += &format!(" {value:>16.2} |");
            match first {
                None => first = Some(value),
                Some(ours) => row += &format!(" {:>7.1} |", value / ours),
            }
        }
        row
    }
}
