//! Criteria that an agent proposes: a person confirms them, and only below level 3 the work goes on without.

use engine::{Actor, Ask, CRITERIA, Event, Run, Standing, Step, Time, step};

use crate::{script::play_to, support::workflow};

/// A run of a level that asks whether proposed criteria are right.
fn asks(level: u64) -> Run {
    let (mut run, _) = play_to("@planning");
    run.level = level;
    let options = ["accept", "reject", "stop"].map(str::to_owned).to_vec();
    let event =
        Event::QuestionAsked { kind: CRITERIA.to_owned(), question: "Are these right?".to_owned(), options };
    taken(&run, Actor::Agent, event, run.updated_at).run
}

fn taken(run: &Run, actor: Actor, event: Event, at: Time) -> Step {
    let mut ask = Ask { actor, ..Ask::new(event, at) };
    ask.data.insert("by".to_owned(), "ann".into());
    step(workflow("warp-drive"), run, &ask).unwrap_or_else(|refused| panic!("{refused}"))
}

fn unconfirmed(run: &Run, actor: Actor) -> Result<Step, String> {
    let ask = Ask { actor, ..Ask::new(Event::CriteriaUnconfirmed, run.updated_at) };
    step(workflow("warp-drive"), run, &ask).map_err(|refused| refused.to_string())
}

fn objections(run: &Run) -> Vec<String> {
    run.objections.iter().map(ToString::to_string).collect()
}

#[test]
fn the_question_has_its_own_options_and_a_deadline() {
    let run = asks(3);
    let Standing::Parked { decision } = &run.standing else { panic!("{:?}", run.standing) };
    assert_eq!(decision.options, ["accept", "reject", "stop", "skip"]);
    assert!(decision.deadline.is_some(), "what nobody answers is skipped");
}

#[test]
fn who_confirms_criteria_is_on_record() {
    let run = asks(3);
    let Standing::Parked { decision } = &run.standing else { panic!("{:?}", run.standing) };
    let answer =
        |option: &str| Event::DecisionAnswered { decision: decision.id.clone(), option: option.to_owned() };
    let accepted = taken(&run, Actor::Person, answer("accept"), run.updated_at).run;
    assert_eq!((accepted.phase.as_str(), &accepted.standing), ("planning", &Standing::Active));
    assert_eq!(objections(&accepted), ["accepted by ann: criteria: proposed by the agent"]);
    let rejected = taken(&run, Actor::Person, answer("reject"), run.updated_at).run;
    assert_eq!((rejected.standing, rejected.objections.len()), (Standing::Active, 0));
}

#[test]
fn below_level_3_the_work_goes_on_with_criteria_that_nobody_has_confirmed() {
    let run = unconfirmed(&asks(2), Actor::Engine).unwrap().run;
    assert_eq!((run.phase.as_str(), &run.standing), ("planning", &Standing::Active));
    assert_eq!(objections(&run), ["criteria: proposed by the agent, nobody has confirmed them"]);
    let refused = unconfirmed(&asks(3), Actor::Engine).unwrap_err();
    assert!(refused.contains("needs criteria that a person has confirmed"), "{refused}");
}

#[test]
fn only_warp_says_that_nobody_is_there_and_only_about_criteria() {
    for actor in [Actor::Agent, Actor::Person] {
        let refused = unconfirmed(&asks(2), actor).unwrap_err();
        assert!(refused.contains("warp says that by itself"), "{refused}");
    }
    let (mut run, _) = play_to("@planning, question Which way?");
    run.level = 2;
    let refused = unconfirmed(&run, Actor::Engine).unwrap_err();
    assert!(refused.contains("no criteria are to be confirmed"), "{refused}");
}
