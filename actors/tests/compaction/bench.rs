//! A small agent that compacts with the real functions, over a provider that refuses what is too
//! large and keeps a log of every request that it saw.

use std::sync::Arc;

use kinfolk_actors::compaction::cut::{Room, cut};
use kinfolk_actors::compaction::guard::{Gain, Guard, Verdict};
use kinfolk_actors::compaction::summary::{self, Asked, Judged, Plan, Unusable};
use kinfolk_actors::compaction::trigger::{is_due, threshold};
use kinfolk_actors::compaction::{CompactionSettings, ContextFull, Trigger};
use kinfolk_actors::context::{ModelRequest, messages};
use kinfolk_actors::estimate::{self, ContextSize, NextRequest, RequestSize};
use kinfolk_actors::event::{Finish, Reply};
use kinfolk_actors::profile::ModelProfile;
use kinfolk_actors::transcript::{Entry, Transcript};
use kinfolk_actors::usage::Usage;

use crate::fixture::*;

/// What a summarising model answers.
pub type Summariser = fn(&ModelRequest, Asked) -> Reply;

pub struct Bench {
    pub profile: ModelProfile,
    pub summariser: ModelProfile,
    pub settings: CompactionSettings,
    /// The fixed part of each request.
    pub base: ModelRequest,
    pub summarise: Summariser,
    /// What the provider takes, whatever the profile says.
    pub provider_takes: u64,
    pub transcript: Transcript,
    pub size: ContextSize,
    pub guard: Guard,
    /// The requests that the provider answered or refused, summaries included.
    pub sent: Vec<ModelRequest>,
    pub compactions: Vec<Result<(), Unusable>>,
}

pub fn notes(_: &ModelRequest, _: Asked) -> Reply {
    reply("Goal: the task. Next step: go on.", Finish::Stop)
}

impl Bench {
    pub fn new(profile: ModelProfile) -> Self {
        Self {
            summariser: profile.clone(),
            provider_takes: profile.window,
            profile,
            settings: CompactionSettings::default(),
            base: request(&Transcript::default()),
            summarise: notes,
            transcript: Transcript::default(),
            size: ContextSize::default(),
            guard: Guard::default(),
            sent: vec![],
            compactions: vec![],
        }
    }

    pub fn request(&self) -> ModelRequest {
        ModelRequest { messages: messages(&self.transcript), ..self.base.clone() }
    }

    pub fn add(&mut self, entry: Entry) {
        if matches!(entry, Entry::User(_)) {
            self.guard.user_wrote();
        }
        self.size.added(estimate::entry(&entry));
        self.transcript.push(entry);
    }

    /// How large the next request will be.
    pub fn next_size(&self) -> u64 {
        let whole = || RequestSize::of(&self.request()).total();
        self.size.next(NextRequest::Ordinary).unwrap_or_else(whole)
    }

    /// Sends the next request, compacting first where it is due, and adds the answer. What the
    /// provider reports is what it counts, so the estimate is put right by each reply.
    pub fn go(&mut self, answer: Entry) -> Result<(), ContextFull> {
        loop {
            while is_due(self.next_size(), threshold(&self.profile, &self.settings)) {
                self.compact(Trigger::Threshold)?;
            }
            let request = self.request();
            let tokens = RequestSize::of(&request).total();
            self.sent.push(request);
            if tokens <= self.provider_takes {
                let said = Usage { input_tokens: tokens, output_tokens: 1, ..Usage::default() };
                self.guard.replied();
                self.size.replied(&said);
                self.add(answer);
                return Ok(());
            }
            self.compact(Trigger::Overflow)?;
        }
    }

    pub fn compact(&mut self, trigger: Trigger) -> Result<(), ContextFull> {
        let request = self.request();
        let room = Room::of(&self.profile, &self.settings, RequestSize::of(&request).fixed());
        let cut = match self.guard.judge(trigger, cut(&self.transcript, room)) {
            Verdict::Compact(cut) => cut,
            Verdict::Nothing(_) => return Ok(()),
            Verdict::Full(full) => return Err(full),
        };
        self.guard.began(trigger);
        let before = self.next_size();
        let summarised = self.summary(&request, trigger)?;
        if let Ok(summary) = &summarised {
            self.transcript = self.transcript.compacted(cut.kept_from, summary);
            self.size.compacted();
        }
        let limit = threshold(&self.profile, &self.settings);
        self.guard.ended(Gain::of(before, self.next_size(), limit));
        self.compactions.push(summarised.map(|_| ()));
        Ok(())
    }

    fn summary(
        &mut self,
        ordinary: &ModelRequest,
        trigger: Trigger,
    ) -> Result<Result<Arc<str>, Unusable>, ContextFull> {
        let model = self.settings.model.clone().unwrap_or_else(|| Arc::clone(&ordinary.model));
        let refused =
            matches!(trigger, Trigger::Overflow).then(|| RequestSize::of(ordinary).total());
        let room = summary::room(&self.summariser, refused);
        for asked in [Asked::First, Asked::Again] {
            let request = summary::request(ordinary, &Plan { model: &model, room, asked })?;
            let answer = (self.summarise)(&request, asked);
            self.sent.push(request);
            match summary::judge(&answer, asked) {
                Judged::Summary(text) => return Ok(Ok(text)),
                Judged::Failed(why) => return Ok(Err(why)),
                Judged::AskAgain => {}
            }
        }
        unreachable!("the second answer is final")
    }
}
