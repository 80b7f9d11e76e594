//! A client, and then warp, is killed at five moments of a run: nothing is left behind, and the run goes on to its end.

use testkit::{
    agents::Running,
    model::{Gate, Model},
};

use super::{
    client::Client,
    coder::{Coder, Stop},
    processes::{are_gone, kill_client},
    project::{PATIENCE, Pipe, Project, finish, has_walls},
};

const CHUNKS: usize = 2;

/// How far a run is when something is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// The client is started.
    Start,
    /// The model is asked.
    Asked,
    /// A tool runs.
    Tool,
    /// The model has answered.
    Answered,
    /// The client has ended, and warp looks at what it did.
    Between,
}

/// What tells that a run has come to a moment.
enum Sign {
    Pipe(Pipe),
    Request(usize),
    Gate(Gate),
}

/// A run of a client that is to be killed.
struct Scene<'a> {
    project: Project,
    client: &'a Client,
    coder: Coder,
    model: Model,
}

impl Scene<'_> {
    /// Has the run come to a moment, and no further; returns what tells that it has.
    fn prepare(&self, moment: Moment) -> Sign {
        let (stop, sign) = match moment {
            Moment::Start => (Stop::AtOnce, Sign::Pipe(self.project.pipe("started"))),
            Moment::Asked => (Stop::AtOnce, Sign::Request(self.model.requests().len() + 1)),
            Moment::Tool => (Stop::InTool, Sign::Pipe(self.project.pipe("running"))),
            Moment::Answered => {
                let gate = Gate::new();
                (Stop::AfterAnswer(gate.clone()), Sign::Gate(gate))
            }
            Moment::Between => (Stop::Nowhere, Sign::Pipe(self.project.pipe("testing"))),
        };
        self.coder.stop(stop);
        sign
    }

    fn wait(&self, sign: Sign, moment: Moment, running: &Running) {
        let has_come = match sign {
            Sign::Pipe(pipe) => pipe.wait(),
            Sign::Request(count) => self.model.wait_for_requests(count, PATIENCE),
            Sign::Gate(gate) => gate.wait_until_reached(1, PATIENCE),
        };
        assert!(has_come, "it has not come to {moment:?}:\n{}", running.out());
    }

    fn start(&self) -> Running {
        Running::start(self.project.run_client(self.client, &self.model), PATIENCE).unwrap()
    }

    /// Kills the client at a moment, and warp when it has come there again.
    fn kill(&self, moment: Moment) {
        let sign = self.prepare(moment);
        let mut running = self.start();
        self.wait(sign, moment, &running);
        if !matches!(moment, Moment::Between) {
            let sign = self.prepare(moment);
            kill_client(running.id());
            self.wait(sign, moment, &running);
        }
        running.kill();
        assert_eq!(running.wait().signal, Some(9), "{moment:?}: {}", running.out());
        assert!(are_gone(&self.project.sandbox), "after {moment:?} something still runs");
    }
}

fn is_killed(client: Option<Client>) {
    let Some(client) = client.filter(|_| has_walls()) else { return };
    let project = Project::new(CHUNKS);
    let coder = Coder::new();
    let model = Model::start(coder.script());
    project.client(&client, &model);
    let scene = Scene { project, client: &client, coder, model };
    for moment in [Moment::Start, Moment::Asked, Moment::Tool, Moment::Answered, Moment::Between] {
        scene.kill(moment);
    }
    finish(scene.project.run_client(&client, &scene.model));
    scene.project.is_done(CHUNKS);
    // Two at each of four moments, one that came to its end before the fifth, one for the other chunk, and one that looks at
    // both of them.
    assert_eq!(scene.project.records("turn_started").len(), 11);
    assert!(are_gone(&scene.project.sandbox), "something still runs");
}

with_each_client! {
    claude_code_is_killed_and_the_run_goes_on: is_killed(claude);
    codex_is_killed_and_the_run_goes_on: is_killed(codex);
    opencode_is_killed_and_the_run_goes_on: is_killed(opencode);
    acp_agent_is_killed_and_the_run_goes_on: is_killed(acp);
}
