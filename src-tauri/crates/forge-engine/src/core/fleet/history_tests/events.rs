//! What happens in a history, one thing at a time.

use super::*;

impl History {
    /// A task in a project of its own choice, or of its parent.
    async fn insert(&mut self, tx: &mut Tx, of: Option<(&TaskRow, ExecutionMode)>) -> TaskRow {
        let project = ProjectId(format!("p{}", self.rng.next(PROJECTS)));
        let project = of.map_or(project, |(parent, _)| parent.project_id.clone());
        let number = tx.projects_mut().take_task_number(&project).await.unwrap();
        let labels: [&[&str]; 5] = [&[], &["gpu"], &["arm"], &["gpu", "arm"], &["m1"]];
        let labels = labels[self.rng.next(5)].iter().map(|label| (*label).to_owned()).collect();
        let id = TaskId(format!("{project}-{number:03}"));
        let mut row = TaskRow {
            project_id: project,
            priority: i32::try_from(self.rng.next(3)).unwrap(),
            machines: Some(labels),
            ..testing::task_row(id.clone(), number, "todo", self.world.now())
        };
        if let Some((parent, mode)) = of {
            (row.parent_id, row.execution_mode) = (Some(parent.id.clone()), mode);
            row.race_place = (mode == ExecutionMode::RaceEntry).then_some(number);
        }
        tx.tasks_mut().insert(&row).await.unwrap();
        for role in ["coder", "reviewer"] {
            let agent = Some(AgentId(format!("a{}", self.rng.next(AGENTS))));
            let holder = RoleHolder { kind: HolderKind::Agent, id: agent };
            tx.roles_mut().put(&id, role, Some(&holder)).await.unwrap();
        }
        row
    }

    async fn create(&mut self) {
        let world = self.world.clone();
        let mut tx = world.store().write().await.unwrap();
        let row = self.insert(&mut tx, None).await;
        // Nothing depends on the entry of a race.
        let entries: BTreeSet<&TaskId> = self.raced.values().flatten().collect();
        let others: Vec<TaskId> = self.tasks.iter().filter(|id| !entries.contains(id)).cloned().collect();
        if !others.is_empty() && self.rng.one_in(4) {
            let before = others[self.rng.next(others.len())].clone();
            tx.dependencies_mut().insert(&row.id, &before).await.unwrap();
        }
        if self.rng.one_in(8) {
            locked(&world.part::<Failing>().0).insert(row.id.clone());
        }
        let part = match self.rng.one_in(6) {
            true => Some(self.insert(&mut tx, Some((&row, ExecutionMode::OrderedTurn))).await),
            false => None,
        };
        tx.commit().await.unwrap();
        self.parts.extend(part.map(|part| part.id));
        self.tasks.push(row.id);
        self.made += 1;
        look_for_work(&self.world);
    }

    /// A task that is raced for, with two entries that begin at once.
    async fn race(&mut self) {
        let world = self.world.clone();
        let mut tx = world.store().write().await.unwrap();
        let mut raced = self.insert(&mut tx, None).await;
        let context = contexts::context_of(&world, &mut tx, &raced).await.unwrap();
        let start = |to: &str| Move::by(to, "start", Actor::System { cause: Cause::Scheduler });
        core::transition::apply(&world, &mut tx, &context, &mut raced, start("in_progress")).await.unwrap();
        tx.steps_mut().skip_open(&raced.id, "it is raced for", world.now()).await.unwrap();
        let seq = tx.transitions().last(&raced.id).await.unwrap().unwrap().seq;
        for kind in [StepKind::Race, StepKind::PrepareWorkspace, StepKind::ClearBarrier] {
            let mut step = StepRow::pending(&raced.id, "in_progress", kind, "before_enter");
            step.transition_seq = Some(seq);
            tx.steps_mut().insert(&mut step).await.unwrap();
        }
        let mut entries = Vec::new();
        for _ in 0..2 {
            let mut entry = self.insert(&mut tx, Some((&raced, ExecutionMode::RaceEntry))).await;
            let context = contexts::context_of(&world, &mut tx, &entry).await.unwrap();
            core::transition::apply(&world, &mut tx, &context, &mut entry, start("race/running"))
                .await
                .unwrap();
            entries.push(entry.id);
        }
        tx.commit().await.unwrap();
        for id in entries.iter().chain([&raced.id]) {
            workers::kick(&world, id);
        }
        self.made += entries.len();
        self.tasks.extend(entries.iter().cloned());
        self.raced.insert(raced.id, entries);
    }

    /// The clock jumps by some hours, or to another day.
    async fn jump(&mut self, hours: i64) {
        self.clock.ahead.fetch_add(hours * HOUR, Ordering::SeqCst);
        self.clock.jumped.notify_one();
        // Whoever sleeps until then wakes.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    /// An agent's provider takes nothing for some hours.
    async fn limit(&mut self) {
        let until = self.world.now().plus_ms(HOUR * 3);
        let agent = AgentId(format!("a{}", self.rng.next(AGENTS)));
        let mut tx = self.world.store().write().await.unwrap();
        tx.limits_mut().put(&agent, until).await.unwrap();
        tx.commit().await.unwrap();
        wake_at(&self.world, until);
    }

    /// A task that is done is deleted, with its runs.
    async fn delete(&mut self, id: &TaskId) {
        let is_of_race = self.raced.values().flatten().any(|entry| entry == id);
        if !self.done.contains(id) || is_of_race {
            return;
        }
        let mut tx = self.world.store().write().await.unwrap();
        tx.tasks_mut().delete(id).await.unwrap();
        tx.commit().await.unwrap();
        self.tasks.retain(|task| task != id);
        let left = self.world.store().read().await.unwrap().tasks().of_ids(&self.parts).await.unwrap();
        self.parts = left.into_iter().filter(|part| part.parent_id.is_some()).map(|part| part.id).collect();
        wake_waiting(&self.world);
    }

    pub(super) async fn open_runs(&self) -> Vec<Execution> {
        let open = self.world.store().read().await.unwrap().executions().open(None).await.unwrap();
        open.into_iter().map(|row| row.execution).collect()
    }

    /// A run ends well and has cost something; its task is reviewed next, or done.
    async fn end(&mut self, mut run: Execution) {
        let world = self.world.clone();
        let mut tx = world.store().write().await.unwrap();
        let mut task = tx.tasks().get(&run.task_id).await.unwrap().unwrap();
        let context = contexts::context_of(&world, &mut tx, &task).await.unwrap();
        let cost = u64::try_from(self.rng.next(8)).unwrap();
        run.usage.cost_micro_usd = Some(cost);
        tx.executions_mut().set_used(&run, None).await.unwrap();
        self.costs.insert(run.id.clone(), cost);
        run.status = ExecutionStatus::Finished;
        run.finished_at = Some(world.now());
        tx.executions_mut().update(&run).await.unwrap();
        let is_entry = task.execution_mode == ExecutionMode::RaceEntry;
        let is_reviewed = task.status == "in_progress" && self.rng.one_in(2);
        let to = match is_entry {
            true => "race/over",
            false if is_reviewed => "review",
            false => "done",
        };
        let mv = Move::by(to, "accept", Actor::System { cause: Cause::Workflow });
        core::transition::apply(&world, &mut tx, &context, &mut task, mv).await.unwrap();
        if to == "review" && self.rng.one_in(3) {
            task.review_passed_at = Some(world.now());
            tx.tasks_mut().update(&mut task, world.now()).await.unwrap();
            self.passed.insert(task.id.clone());
        }
        tx.commit().await.unwrap();
        if to != "review" {
            assert!(self.done.insert(task.id.clone()), "{} ended twice", task.id);
        }
        workers::kick(&world, &task.id);
        if let Some(raced) = task.parent_id.filter(|_| is_entry) {
            workers::kick(&world, &raced);
        }
        wake_waiting(&world);
    }

    /// Tasks whose work passed before are done.
    async fn pass_on(&mut self) {
        let world = self.world.clone();
        for id in std::mem::take(&mut self.passed) {
            let mut tx = world.store().write().await.unwrap();
            let mut task = tx.tasks().get(&id).await.unwrap().unwrap();
            let context = contexts::context_of(&world, &mut tx, &task).await.unwrap();
            let mv = Move::by("done", "accept", Actor::System { cause: Cause::Workflow });
            core::transition::apply(&world, &mut tx, &context, &mut task, mv).await.unwrap();
            tx.commit().await.unwrap();
            assert!(self.done.insert(id.clone()), "{id} ended twice");
            workers::kick(&world, &id);
        }
        wake_waiting(&world);
    }

    /// A machine cannot be reached any more, which wakes nobody.
    fn cut(&self, n: usize) {
        locked(&self.world.part::<CutOff>().0).insert(MachineId(format!("m{n}")));
    }

    /// It can be again.
    fn reach(&self, n: usize) {
        let id = MachineId(format!("m{n}"));
        locked(&self.world.part::<CutOff>().0).remove(&id);
        if locked(&self.world.part::<Awaited>().0).remove(&id) {
            wake_waiting(&self.world);
        }
    }

    /// A person pauses a project or resumes it, or changes how many agents it may have or what a day may cost.
    async fn change_project(&mut self, n: usize) {
        let world = self.world.clone();
        let id = ProjectId(format!("p{n}"));
        let mut tx = world.store().write().await.unwrap();
        let mut row = tx.projects().get(&id).await.unwrap().unwrap();
        match self.rng.next(3) {
            0 => row.project.paused = self.rng.one_in(2),
            1 => {
                // No lower than what is at work: that goes on.
                let counts = tx.slots().counts().await.unwrap();
                let taken: u32 =
                    counts.iter().filter(|slot| slot.project_id == id).map(|slot| slot.count).sum();
                let most = u32::try_from(1 + self.rng.next(5)).unwrap().max(taken);
                row.settings["max_concurrent"] = json!(most);
            }
            _ => {
                let limit = self.rng.one_in(2).then_some(20);
                row.settings["cost_limits"] = json!({ "day_micro_usd": limit });
            }
        }
        tx.projects_mut().update(&mut row, world.now()).await.unwrap();
        tx.commit().await.unwrap();
        wake_waiting(&world);
    }

    /// Nothing keeps the tasks of a project from starting.
    async fn let_go(&self, n: usize) {
        let mut tx = self.world.store().write().await.unwrap();
        let mut row = tx.projects().get(&ProjectId(format!("p{n}"))).await.unwrap().unwrap();
        row.project.paused = false;
        row.settings["cost_limits"] = json!({});
        tx.projects_mut().update(&mut row, self.world.now()).await.unwrap();
        tx.commit().await.unwrap();
        wake_waiting(&self.world);
    }

    /// A run is cut short; another one follows, where its worktree is.
    async fn lose(&self, run: Execution) {
        let world = &self.world;
        let mut tx = world.store().write().await.unwrap();
        let task = tx.tasks().get(&run.task_id).await.unwrap().unwrap();
        run::lost::lose_run(world, &mut tx, &task, run).await.unwrap();
        tx.commit().await.unwrap();
        workers::kick(world, &task.id);
        wake_waiting(world);
    }

    async fn pause(&self, n: usize, paused: bool) {
        let mut tx = self.world.store().write().await.unwrap();
        let now = tx.agents().get(&AgentId(format!("a{n}"))).await.unwrap().unwrap();
        tx.agents_mut().put(&Agent { paused, ..now }).await.unwrap();
        tx.commit().await.unwrap();
        wake_waiting(&self.world);
    }

    async fn change(&self, n: usize, change: MachineChange) {
        let id = MachineId(format!("m{n}"));
        machine::command::update_machine(&self.world, &id, change).await.unwrap();
    }

    async fn drain(&self, n: usize, draining: bool) {
        self.change(n, MachineChange { draining: Some(draining), ..MachineChange::default() }).await;
    }

    pub(super) async fn happen(&mut self) {
        let open = self.open_runs().await;
        for run in &open {
            self.seen.insert(run.id.clone(), (run.machine_id.clone(), run.started_at));
        }
        let run = (!open.is_empty()).then(|| open[self.rng.next(open.len())].clone());
        let task = (!self.tasks.is_empty()).then(|| self.tasks[self.rng.next(self.tasks.len())].clone());
        match (self.rng.next(25), run, task) {
            (0..=3, _, _) if self.made < TASKS => self.create().await,
            (4..=6, Some(run), _) => self.end(run).await,
            (7, Some(run), _) if run.role == ExecutionRole::Coder => self.lose(run).await,
            (8, ..) => {
                let (n, draining) = (self.rng.next(MACHINES), self.rng.one_in(2));
                self.drain(n, draining).await;
            }
            (9, ..) => {
                let (n, paused) = (self.rng.next(AGENTS), self.rng.one_in(2));
                self.pause(n, paused).await;
            }
            (10, _, Some(task)) => {
                let held = self.rng.one_in(2);
                // A closed task cannot be held; the refusal is ignored here.
                let _ = set_held(&self.world, &task, None, held).await;
            }
            (11, ..) if self.made + 1 < TASKS => self.race().await,
            (12, ..) => {
                let hours = i64::try_from(1 + self.rng.next(30)).unwrap();
                self.jump(hours).await;
            }
            (13, ..) => self.limit().await,
            (14, _, Some(task)) => self.delete(&task).await,
            (15, ..) => {
                let n = self.rng.next(MACHINES);
                self.cut(n);
            }
            (16 | 17, ..) => {
                let n = self.rng.next(MACHINES);
                self.reach(n);
            }
            (18 | 19, ..) => {
                let n = self.rng.next(PROJECTS);
                self.change_project(n).await;
            }
            (20, ..) => self.pass_on().await,
            (21 | 22, _, Some(task)) => {
                let agent = AgentId(format!("a{}", self.rng.next(AGENTS)));
                let holder = RoleHolder { kind: HolderKind::Agent, id: Some(agent) };
                // Refused while its agent runs; that is ignored here.
                let _ = assign(&self.world, &task, None, "coder", Some(holder)).await;
            }
            (_, _, Some(task)) => self.claim(&task).await,
            _ => {}
        }
    }

    /// A person starts it; what is refused is no matter here.
    async fn claim(&mut self, task: &TaskId) {
        let holder = self.world.store().read().await.unwrap().roles().holder(task, "coder").await.unwrap();
        let request =
            ClaimRequest { version: None, holder: holder.unwrap(), queue: true, if_locked: IfLocked::Reject };
        let _ = claim(&self.world, Actor::User { via: Via::Cli }, task, request).await;
    }

    pub(super) async fn quiet(&self) {
        let begun = Instant::now();
        let mut still = 0;
        while still < 3 {
            let is_quiet = workers::are_idle(&self.world) && scheduler::is_idle(&self.world);
            still = if is_quiet { still + 1 } else { 0 };
            assert!(begun.elapsed() < PATIENCE, "it never becomes quiet");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Everything that holds something up ends, and then all runs do.
    pub(super) async fn finish(&mut self) {
        while self.made < TASKS {
            self.create().await;
        }
        self.jump(48).await;
        locked(&self.world.part::<Failing>().0).clear();
        self.spent.clear();
        for n in 0..PROJECTS {
            self.let_go(n).await;
        }
        for n in 0..MACHINES {
            self.reach(n);
            let quota = Some(MachineQuota::default());
            self.change(n, MachineChange { draining: Some(false), quota, ..MachineChange::default() }).await;
        }
        for n in 0..AGENTS {
            self.pause(n, false).await;
        }
        for task in self.tasks.clone() {
            let _ = set_held(&self.world, &task, None, false).await;
        }
        for _ in 0..3 * TASKS {
            self.quiet().await;
            self.check().await;
            for run in self.open_runs().await {
                self.end(run).await;
            }
            self.pass_on().await;
            if self.done.len() >= TASKS {
                return;
            }
        }
        let left: Vec<_> = self.tasks.iter().filter(|task| !self.done.contains(*task)).collect();
        panic!("lost: {left:?}");
    }
}
