//! `now` is never held against `due`: a window is due, and only then are its entries asked.

use minijinja::machinery::{Span, ast};

use crate::{
    check::{TextChecker, TextSort},
    scope::{DUE, NOW},
};

impl TextChecker<'_> {
    /// Refuses a comparison of the two, however deep in a side of it they stand.
    pub fn check_moments(&mut self, left: &ast::Expr<'_>, right: &ast::Expr<'_>, span: Span) {
        if self.sort != TextSort::Condition {
            return;
        }
        let reads = |name| (is_read(left, name), is_read(right, name));
        let ((now_left, now_right), (due_left, due_right)) = (reads(NOW), reads(DUE));
        if (now_left && due_right) || (due_left && now_right) {
            let what = "`now` is not compared with `due`: an entry is asked after its window was due, so the answer is always the same";
            let help = "compare `now` or `due` with a time of the subject: `subject.opens > now`".to_string();
            self.add_finding(span, what, help);
        }
    }
}

/// Whether the value of an expression is made of this name. Of what is true or false nothing of it is left.
fn is_read(expression: &ast::Expr<'_>, name: &str) -> bool {
    use ast::Expr;
    let of = |inner: &ast::Expr<'_>| is_read(inner, name);
    match expression {
        Expr::Var(var) => var.id == name,
        Expr::UnaryOp(unary) => matches!(unary.op, ast::UnaryOpKind::Neg) && of(&unary.expr),
        Expr::BinOp(binary) if is_comparison(&binary.op) => false,
        Expr::BinOp(binary) => of(&binary.left) || of(&binary.right),
        Expr::IfExpr(asked) => of(&asked.true_expr) || asked.false_expr.as_ref().is_some_and(of),
        Expr::Filter(filter) => {
            filter.expr.as_ref().is_some_and(of) || filter.args.iter().any(|one| is_argument(one, name))
        }
        Expr::GetAttr(get) => of(&get.expr),
        Expr::GetItem(get) => of(&get.expr),
        Expr::Slice(slice) => of(&slice.expr),
        Expr::List(list) => list.items.iter().any(of),
        Expr::Tuple(list) => list.items.iter().any(of),
        Expr::Const(_) | Expr::Compare(_) | Expr::Test(_) | Expr::Call(_) | Expr::Map(_) => false,
    }
}

fn is_comparison(op: &ast::BinOpKind) -> bool {
    use ast::BinOpKind as Op;
    matches!(op, Op::Eq | Op::Ne | Op::Lt | Op::Lte | Op::Gt | Op::Gte | Op::In)
}

fn is_argument(argument: &ast::CallArg<'_>, name: &str) -> bool {
    match argument {
        ast::CallArg::Pos(of)
        | ast::CallArg::Kwarg(_, of)
        | ast::CallArg::PosSplat(of)
        | ast::CallArg::KwargSplat(of) => is_read(of, name),
    }
}
