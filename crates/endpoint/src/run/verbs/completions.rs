//! Polls completions of the adapter, handles them by kind, and waits for the next.

use super::receiver::Written;
use super::{INDEX_SHIFT, IS_RECEIVER, RdmaVerbs};
use crate::run::driver::Event;
use crate::run::share::planned_bytes;
use crate::verbs::{AT_ONCE, Completion, Ended};
use std::io;
use units::{Instant, Span};

/// Busy-polling time before sleeping: about the duration of a wake-up.
const SPIN: Span = Span::from_us(20);

impl RdmaVerbs {
    /// Polls completions once and handles them.
    pub(super) fn collect(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        let Some(resources) = &self.resources else { return Ok(()) };
        self.ended.clear();
        let start = self.stamps.as_ref().map(|_| self.clock.now());
        let count = resources.completions.poll(&mut self.ended)?;
        if count > 0 {
            self.handle(self.clock.now(), events)?;
        }
        if let (Some(stamps), Some(start)) = (&mut self.stamps, start)
            && count < AT_ONCE
        {
            stamps.drained(start);
        }
        Ok(())
    }

    /// Handles polled completions.
    fn handle(&mut self, seen: Instant, events: &mut Vec<Event>) -> io::Result<()> {
        if let Some(stamps) = &mut self.stamps {
            stamps.poll_clock(seen);
        }
        self.counts.completions += self.ended.len() as u64;
        for index in 0..self.ended.len() {
            let Completion { id, ended, ticks } = self.ended[index];
            let (index, is_receiver) = ((id >> INDEX_SHIFT) as u32, id & IS_RECEIVER != 0);
            match (ended, is_receiver) {
                (Ended::Failed { status, vendor }, _) => self.on_failed(id, status, vendor, events),
                (Ended::Acknowledged, false) => self.on_acknowledged(index, id as u32, ticks, seen, events),
                (Ended::Acknowledged, true) => self.on_credit_sent(index)?,
                (Ended::Written { immediate, .. }, false) => self.on_credit(index, immediate, events),
                (Ended::Written { immediate, bytes }, true) => {
                    let at = self.stamps.as_mut().map_or(seen, |stamps| stamps.time(ticks, None, seen));
                    self.on_written(index, immediate, bytes, at, events)?;
                }
            }
        }
        Ok(())
    }

    fn on_acknowledged(
        &mut self,
        index: u32,
        request: u32,
        ticks: u64,
        seen: Instant,
        events: &mut Vec<Event>,
    ) {
        if let Some(Some(sender)) = self.senders.get_mut(index as usize) {
            let stamps = self.stamps.as_mut();
            let at = stamps.map_or(seen, |stamps| stamps.time(ticks, sender.posts.of(request), seen));
            sender.work.on_acknowledged(request, at, events);
            if sender.work.can_post() {
                self.to_send.add(index);
            }
        }
    }

    fn on_credit(&mut self, index: u32, checked: u32, events: &mut Vec<Event>) {
        let Some(Some(sender)) = self.senders.get_mut(index as usize) else { return };
        if let Err(error) = sender.on_credit(checked) {
            self.fail(index, &error.to_string(), events);
        } else if sender.work.can_post() {
            self.to_send.add(index);
        }
    }

    fn on_credit_sent(&mut self, index: u32) -> io::Result<()> {
        self.receivers
            .get_mut(index as usize)
            .map_or(Ok(()), |receiver| receiver.on_credit_sent(&mut self.list))
    }

    fn on_written(
        &mut self,
        index: u32,
        immediate: u32,
        bytes: u32,
        at: Instant,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        self.received_at = self.clock.now();
        let (Some(receiver), Some(resources)) = (self.receivers.get_mut(index as usize), &self.resources)
        else {
            return Ok(());
        };
        let planned = planned_bytes(&self.jobs, receiver.number, immediate);
        receiver.on_written(&Written { immediate, bytes, planned }, &resources.target, at, events);
        receiver.post_receives()?;
        receiver.send_credit(&mut self.list)
    }

    fn on_failed(&mut self, id: u64, status: u32, vendor: u32, events: &mut Vec<Event>) {
        let Some(resources) = &self.resources else { return };
        let why = format!("{} (status {status}, vendor's {vendor:#x})", resources.completions.status(status));
        let index = (id >> INDEX_SHIFT) as u32;
        if id & IS_RECEIVER == 0 {
            self.fail(index, &why, events);
        } else if self.failure.is_empty() {
            // The sender reports the fate of chunks.
            let number = self.receivers.get(index as usize).map_or(0, |receiver| receiver.number);
            self.failure = format!("receiving on queue pair {number}: {why}");
        }
    }

    /// Polls completions for a while, then sleeps until the next one.
    pub(super) fn wait(&mut self, patience: Span, events: &mut Vec<Event>) -> io::Result<()> {
        let start = self.clock.now();
        while self.clock.now().since(start) < SPIN.min(patience) {
            self.collect(events)?;
            if !self.is_idle(events) {
                return Ok(());
            }
        }
        let Some(left) = patience.0.checked_sub(SPIN.0).filter(|left| *left > 0) else { return Ok(()) };
        let Some(resources) = &self.resources else { return Ok(()) };
        resources.completions.arm()?;
        self.collect(events)?;
        if self.is_idle(events) {
            self.counts.sleeps += 1;
            self.resources.as_ref().map_or(Ok(()), |resources| resources.completions.wait(Span(left)))?;
            self.collect(events)?;
        }
        Ok(())
    }
}
