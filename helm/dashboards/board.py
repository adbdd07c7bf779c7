"""What all dashboards of the house have in common: variables, panels in rows, queries and links.

A dashboard is a table: `Board(...)`, then rows, then panels. In a query `@` stands for the labels by which the variables
choose: `tidings_turns_total{@, outcome="lost"}`.
"""

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as model

CHOSEN = 'job=~"$job", namespace=~"$namespace", release=~"$release", instance=~"$instance"'
SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
# The two promises, in seconds, and the share of messages that keeps them.
URGENT, DIGEST = 10, 300
URGENT_KEPT, DIGEST_KEPT = 0.999, 0.99
# Which label chooses what, each among what those before it leave.
VARIABLES = {
    "job": ("job", "The job of the scrape"),
    "namespace": ("namespace", "The namespace, if Kubernetes runs the house"),
    "release": ("house", "The Helm release, which is one house"),
    "instance": ("process", "One process, or all"),
}


def rate(metric, by, more=""):
    return f"sum by ({by}) (rate({metric}{{@{more}}}[$__rate_interval]))"


def late(metric, limit, by=""):
    """The share of messages that were told in time, over the interval of the panel."""
    grouped = f" by ({by})" if by else ""
    in_time = f'sum{grouped} (rate({metric}_bucket{{@, le="{limit}"}}[$__rate_interval]))'
    return f"{in_time} / sum{grouped} (rate({metric}_count{{@}}[$__rate_interval]))"


def quantiles(metric, by="", name="", shares=(0.5, 0.99), more=""):
    """Queries of some quantiles of a histogram, a line for each value of a label."""
    grouped = f"le, {by}" if by else "le"
    return [
        (f"histogram_quantile({share}, sum by ({grouped}) (rate({metric}_bucket{{@{more}}}[$__rate_interval])))", f"{name} p{share * 100:g}".strip())
        for share in shares
    ]


def greatest(metric, by, more=""):
    """Each process reports all partitions, so the greatest of them is the one to take, not their sum."""
    return f"max by ({by}) ({metric}{{@{more}}})"


class Board:
    def __init__(self, uid, title, description, page):
        self.made = (
            dashboard.Dashboard(title).uid(uid).description(description).tags(["tidings"]).readonly().timezone("browser")
            .tooltip(model.DashboardCursorSync.CROSSHAIR).refresh("30s").time("now-6h", "now")
            .with_variable(dashboard.DatasourceVariable("datasource").label("data source").type("prometheus"))
        )
        before = []
        for name, (label, help_text) in VARIABLES.items():
            chosen = ", ".join(f'{other}=~"${other}"' for other in before)
            query = f"label_values(tidings_build_info{{{chosen}}}, {name})" if before else f"label_values(tidings_build_info, {name})"
            self.made.with_variable(
                dashboard.QueryVariable(name).label(label).description(help_text).datasource(SOURCE).query(query)
                .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED).sort(model.VariableSort.ALPHABETICAL_ASC)
                .multi(True).include_all(True).all_value(".*").current(model.VariableOption(text="All", value="$__all"))
            )
            before.append(name)
        # Where the pages of the documentation are: the chart writes its own value here.
        self.made.with_variable(dashboard.ConstantVariable("docs").value("docs"))
        self.made.link(
            dashboard.DashboardLink("Tidings").type(model.DashboardLinkType.DASHBOARDS).tags(["tidings"])
            .as_dropdown(True).include_vars(True).keep_time(True)
        )
        self.made.link(dashboard.DashboardLink("About this page").type(model.DashboardLinkType.LINK).url(f"${{docs}}/{page}").target_blank(True))

    def row(self, title):
        self.made.with_row(dashboard.Row(title))
        return self

    def _panel(self, panel, title, description, unit, queries, page, wide, high, limits):
        panel = panel.title(title).description(description).unit(unit).datasource(SOURCE).span(wide).height(high)
        panel.links([dashboard.DashboardLink("What to do").type(model.DashboardLinkType.LINK).url(f"${{docs}}/{page}").target_blank(True)])
        colours = ["green", "orange", "red"] if len(limits) == 2 else ["green", "red"]
        if limits and limits[0] < 0:
            # Below is bad.
            limits, colours = [-limit for limit in limits], colours[::-1]
        steps = [model.Threshold(value=None, color=colours[0])]
        steps += [model.Threshold(value=limit, color=colour) for limit, colour in zip(limits, colours[1:])]
        panel.thresholds(dashboard.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(steps))
        for at, (expression, legend) in enumerate(queries):
            query = prometheus.Dataquery().expr(expression.replace("@", CHOSEN)).ref_id(chr(ord("A") + at)).datasource(SOURCE).range()
            panel.with_target(query.legend_format(legend) if legend else query)
        self.made.with_panel(panel)
        return self

    def lines(self, title, description, unit, queries, page, wide=8, limits=(), stacked=False):
        """Lines over time. A negative limit is one that must not be fallen below."""
        panel = timeseries.Panel().min(0).fill_opacity(10).line_width(1).show_points(shapes.VisibilityMode.NEVER)
        panel.legend(
            common.VizLegendOptions().show_legend(True).display_mode(shapes.LegendDisplayMode.TABLE)
            .placement(shapes.LegendPlacement.BOTTOM).calcs(["lastNotNull", "max"])
        ).tooltip(common.VizTooltipOptions().mode(shapes.TooltipDisplayMode.MULTI).sort(shapes.SortOrder.DESCENDING))
        if stacked:
            panel.stacking(common.StackingConfig().mode(shapes.StackingMode.NORMAL)).fill_opacity(40)
        if limits:
            panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(shapes.GraphTresholdsStyleMode.LINE))
        return self._panel(panel, title, description, unit, queries, page, wide, 8, limits)

    def number(self, title, description, unit, query, page, wide=4, limits=(), legend=""):
        """One number, coloured by what is good."""
        panel = stat.Panel().graph_mode(shapes.BigValueGraphMode.AREA).reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        panel.color_mode(shapes.BigValueColorMode.VALUE)
        return self._panel(panel, title, description, unit, [(query, legend)], page, wide, 4, limits)
