//! Which of the plans that a kind offers tell a person, one for each channel.

use model::{Channel, PlanName, plan::Plan};

/// The plans of a channel that still may be taken, the best first.
type ChannelOffers<'a> = (Channel, Vec<&'a Plan>);

/// Of each channel the plan that is preferred, else the first that is offered. A plan that follows others is taken only
/// if one of those is, since it tells what they told.
pub(crate) fn choose_plans<'a, 'p>(
    offered: &[&'a Plan],
    preferred: impl Fn(Channel) -> Option<&'p str>,
) -> Vec<&'a Plan> {
    let of_channel = |channel: Channel| {
        let (first, others): (Vec<_>, Vec<_>) = offered
            .iter()
            .filter(|plan| plan.channel == channel)
            .copied()
            .partition(|plan| Some(plan.name.as_str()) == preferred(channel));
        (channel, first.into_iter().chain(others).collect())
    };
    let mut open: Vec<ChannelOffers<'a>> = Channel::ALL.into_iter().map(of_channel).collect();
    let mut taken: Vec<&'a Plan> = Vec::new();
    loop {
        open.retain(|(_, plans)| !plans.is_empty());
        let Some(place) = open.iter().position(|(_, plans)| is_settled(plans, &taken, &open)) else {
            // They wait for each other: what follows gives way to what tells of its own accord.
            let Some((_, plans)) = open.first_mut() else { break };
            plans.remove(0);
            continue;
        };
        let (_, plans) = &mut open[place];
        if follows_one(plans[0], &taken) {
            taken.push(plans[0]);
            open.remove(place);
        } else {
            plans.remove(0);
        }
    }
    taken.sort_by_key(|plan| plan.channel);
    taken
}

/// Whether it tells of its own accord, or follows one of these.
fn follows_one(plan: &Plan, taken: &[&Plan]) -> bool {
    plan.follows.as_ref().is_none_or(|follows| taken.iter().any(|one| follows.plans.contains(&one.name)))
}

/// Whether one knows already if the best of these can be taken: it can, or none that it follows can any more.
fn is_settled(plans: &[&Plan], taken: &[&Plan], open: &[ChannelOffers<'_>]) -> bool {
    let is_open = |name: &PlanName| open.iter().flat_map(|(_, plans)| plans).any(|plan| plan.name == *name);
    plans.first().is_some_and(|best| {
        follows_one(best, taken)
            || best.follows.as_ref().is_some_and(|follows| !follows.plans.iter().any(is_open))
    })
}

/// A plan by which somebody would be told nothing on its channel, nor by any other there, since all of them follow what does
/// not tell them; with a plan that they prefer.
pub(crate) fn find_unreachable<'a>(offered: &[&'a Plan]) -> Option<(&'a Plan, &'a Plan)> {
    let of = |channel: Channel| offered.iter().copied().filter(move |plan| plan.channel == channel);
    // All combinations of one plan of each channel.
    let mut combinations: Vec<Vec<&Plan>> = vec![Vec::new()];
    for channel in Channel::ALL.into_iter().filter(|channel| of(*channel).next().is_some()) {
        let longer = |chosen: Vec<&'a Plan>| of(channel).map(move |plan| [&chosen[..], &[plan]].concat());
        combinations = combinations.into_iter().flat_map(longer).collect();
    }
    combinations.iter().find_map(|preferred| {
        let prefers =
            |channel| preferred.iter().find(|plan| plan.channel == channel).map(|plan| plan.name.as_str());
        let taken = choose_plans(offered, prefers);
        let lost = preferred.iter().find(|plan| taken.iter().all(|one| one.channel != plan.channel))?;
        let others = preferred.iter().filter(|plan| plan.channel != lost.channel);
        let lacks = others.clone().find(|plan| !follows_one(lost, &[**plan]) && plan.follows.is_none());
        Some((*lost, lacks.or(others.clone().next()).copied().unwrap_or(lost)))
    })
}
