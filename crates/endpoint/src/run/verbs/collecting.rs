//! Polls completions of the adapter, and waits for them.

use super::{IS_RECEIVER, PLACE_SHIFT, RdmaVerbs};
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
        let Some(made) = &self.made else { return Ok(()) };
        self.ended.clear();
        let began = self.stamps.as_ref().map(|_| self.clock.now());
        let count = made.completions.poll(&mut self.ended)?;
        if count > 0 {
            self.take(self.clock.now(), events)?;
        }
        if let (Some(stamps), Some(began)) = (&mut self.stamps, began)
            && count < AT_ONCE
        {
            stamps.drained(began);
        }
        Ok(())
    }

    /// Handles polled completions.
    fn take(&mut self, seen: Instant, events: &mut Vec<Event>) -> io::Result<()> {
        if let Some(stamps) = &mut self.stamps {
            stamps.keep(seen);
        }
        self.counts.completions += self.ended.len() as u64;
        for place in 0..self.ended.len() {
            let Completion { id, ended, ticks } = self.ended[place];
            let (place, is_receiver) = ((id >> PLACE_SHIFT) as u32, id & IS_RECEIVER != 0);
            match (ended, is_receiver) {
                (Ended::Failed { status, vendor }, _) => self.on_failed(id, status, vendor, events),
                (Ended::Acknowledged, false) => self.on_acknowledged(place, id as u32, ticks, seen, events),
                (Ended::Acknowledged, true) => self.on_told(place)?,
                (Ended::Written { immediate, .. }, false) => self.on_credit(place, immediate, events),
                (Ended::Written { immediate, bytes }, true) => {
                    let at = self.stamps.as_mut().map_or(seen, |stamps| stamps.time(ticks, None, seen));
                    self.on_written(place, immediate, bytes, at, events)?;
                }
            }
        }
        Ok(())
    }

    fn on_acknowledged(
        &mut self,
        place: u32,
        request: u32,
        ticks: u64,
        seen: Instant,
        events: &mut Vec<Event>,
    ) {
        if let Some(Some(sender)) = self.senders.get_mut(place as usize) {
            let stamps = self.stamps.as_mut();
            let at = stamps.map_or(seen, |stamps| stamps.time(ticks, sender.posts.of(request), seen));
            sender.work.on_acknowledged(request, at, events);
            if sender.work.can_go() {
                self.to_send.add(place);
            }
        }
    }

    fn on_credit(&mut self, place: u32, looked: u32, events: &mut Vec<Event>) {
        let Some(Some(sender)) = self.senders.get_mut(place as usize) else { return };
        if let Err(error) = sender.on_credit(looked) {
            self.fail(place, &error.to_string(), events);
        } else if sender.work.can_go() {
            self.to_send.add(place);
        }
    }

    fn on_told(&mut self, place: u32) -> io::Result<()> {
        self.receivers.get_mut(place as usize).map_or(Ok(()), |receiver| receiver.on_told(&mut self.list))
    }

    fn on_written(
        &mut self,
        place: u32,
        chunk: u32,
        bytes: u32,
        at: Instant,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        let (Some(receiver), Some(made)) = (self.receivers.get_mut(place as usize), &self.made) else {
            return Ok(());
        };
        let planned = planned_bytes(&self.jobs, receiver.number, chunk);
        events.extend(receiver.on_written(chunk, bytes, planned, &made.target, at));
        receiver.post_receives()?;
        receiver.tell(&mut self.list)
    }

    fn on_failed(&mut self, id: u64, status: u32, vendor: u32, events: &mut Vec<Event>) {
        let Some(made) = &self.made else { return };
        let why = format!("{} (status {status}, vendor's {vendor:#x})", made.completions.status(status));
        let place = (id >> PLACE_SHIFT) as u32;
        if id & IS_RECEIVER == 0 {
            self.fail(place, &why, events);
        } else if self.why_failed.is_empty() {
            // The sender reports the fate of chunks.
            let number = self.receivers.get(place as usize).map_or(0, |receiver| receiver.number);
            self.why_failed = format!("receiving on queue pair {number}: {why}");
        }
    }

    /// Polls completions for a while, then sleeps until the next one.
    pub(super) fn wait(&mut self, patience: Span, events: &mut Vec<Event>) -> io::Result<()> {
        let began = self.clock.now();
        while self.clock.now().since(began) < SPIN.min(patience) {
            self.collect(events)?;
            if !self.is_idle(events) {
                return Ok(());
            }
        }
        let Some(left) = patience.0.checked_sub(SPIN.0).filter(|left| *left > 0) else { return Ok(()) };
        let Some(made) = &self.made else { return Ok(()) };
        made.completions.arm()?;
        self.collect(events)?;
        if self.is_idle(events) {
            self.counts.sleeps += 1;
            self.made.as_ref().map_or(Ok(()), |made| made.completions.wait(Span(left)))?;
            self.collect(events)?;
        }
        Ok(())
    }
}
