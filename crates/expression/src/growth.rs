//! How large a text can make its values. Steps are counted where a text is run, but what they make is not: `s ~ s`, said
//! forty times, is one step each and a terabyte.

use std::collections::BTreeMap;

use minijinja::machinery::ast;

/// Of how many values each name that a text has set is put together, in scopes from outer to inner.
#[derive(Debug, Default)]
pub(crate) struct TextGrowth {
    scopes: Vec<BTreeMap<String, u64>>,
}

impl TextGrowth {
    pub fn open(&mut self) {
        self.scopes.push(BTreeMap::new());
    }

    pub fn close(&mut self) {
        self.scopes.pop();
    }

    pub fn bind(&mut self, name: &str, parts: u64) {
        if let Some(scope) = self.scopes.last_mut() {
            // Of two branches one is taken: the larger counts.
            let known = scope.entry(name.to_string()).or_default();
            *known = parts.max(*known);
        }
    }

    /// Of how many values an expression is put together.
    pub fn parts(&self, expression: &ast::Expr<'_>) -> u64 {
        use ast::Expr;
        let all =
            |of: &[ast::Expr<'_>]| of.iter().fold(0, |sum: u64, one| sum.saturating_add(self.parts(one)));
        let of_arguments = |arguments: &[ast::CallArg<'_>]| {
            let parts = arguments.iter().map(|argument| match argument {
                ast::CallArg::Pos(of)
                | ast::CallArg::Kwarg(_, of)
                | ast::CallArg::PosSplat(of)
                | ast::CallArg::KwargSplat(of) => self.parts(of),
            });
            parts.fold(0, u64::saturating_add)
        };
        match expression {
            Expr::Var(var) => {
                self.scopes.iter().rev().find_map(|scope| scope.get(var.id)).copied().unwrap_or(1)
            }
            Expr::BinOp(binary) => self.parts(&binary.left).saturating_add(self.parts(&binary.right)),
            Expr::List(list) => all(&list.items),
            Expr::Tuple(list) => all(&list.items),
            Expr::IfExpr(asked) => {
                let other = asked.false_expr.as_ref().map_or(0, |other| self.parts(other));
                self.parts(&asked.true_expr).max(other)
            }
            Expr::Filter(filter) => {
                let of = filter.expr.as_ref().map_or(0, |of| self.parts(of));
                of.saturating_add(of_arguments(&filter.args))
            }
            Expr::Call(call) => of_arguments(&call.args),
            Expr::GetAttr(get) => self.parts(&get.expr),
            Expr::GetItem(get) => self.parts(&get.expr),
            Expr::Slice(slice) => self.parts(&slice.expr),
            _ => 1,
        }
    }
}
