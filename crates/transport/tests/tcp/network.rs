//! Connections over one bottleneck.

use fabricbench_transport::tcp::{
    Acknowledgement, Block, CongestionKind, Segment, TcpConfig, TcpReceiver, TcpSender,
};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use units::{Instant, Rate, Seed, Span, Stream};

/// Headers and gap of a segment [bytes].
const OVERHEAD_BYTES: u64 = 90;

pub(crate) fn config(congestion: CongestionKind) -> TcpConfig {
    TcpConfig {
        mss_bytes: 1448,
        initial_window_segments: 10,
        window_bytes: 1 << 30,
        ack_every: 2,
        delayed_ack: Span::from_us(500),
        rto_initial: Span::from_us(1_000_000),
        rto_min: Span::from_us(10_000),
        rto_max: Span::from_us(60_000_000),
        congestion,
    }
}

/// What happens on the way of segments.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// Each way.
    pub(crate) delay: Span,
    /// Each packet takes up to so much longer.
    pub(crate) jitter: Span,
    pub(crate) loss_ppm: u64,
    /// Every so many segments one is lost.
    pub(crate) loss_every: Option<u64>,
    /// Acknowledgements lost.
    pub(crate) reply_loss_ppm: u64,
    pub(crate) duplicate_ppm: u64,
    /// Segments are serialised one after another.
    pub(crate) rate: Option<Rate>,
    /// What waits for it at most [bytes].
    pub(crate) queue_bytes_max: u64,
    /// Segments are marked that find more than that [bytes].
    pub(crate) mark_bytes: u64,
}

impl Way {
    /// Delays alone.
    pub(crate) fn clean(round_trip: Span) -> Self {
        Self {
            delay: Span(round_trip.0 / 2),
            jitter: Span::ZERO,
            loss_ppm: 0,
            loss_every: None,
            reply_loss_ppm: 0,
            duplicate_ppm: 0,
            rate: None,
            queue_bytes_max: u64::MAX,
            mark_bytes: u64::MAX,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A segment (start, end, marked) of a connection arrives.
    Data(usize, u64, u64, bool),
    /// The acknowledgement of that number arrives.
    Reply(usize, u64),
    /// Timers of a connection may be due.
    Timer(usize),
    /// A connection starts.
    Start(usize),
}

pub(crate) struct Flow {
    pub(crate) sender: TcpSender,
    pub(crate) receiver: TcpReceiver,
    /// On their way.
    replies: HashMap<u64, Acknowledgement>,
    replied: u64,
    /// Segments that arrived beyond the first gap: what the receiver should know.
    arrived: BTreeSet<(u64, u64)>,
    expected: u64,
    start: Instant,
    timer_at: Instant,
    /// The first segments with these numbers of transmission are lost.
    pub(crate) lost: BTreeSet<u64>,
    sent: u64,
}

pub(crate) struct Net {
    pub(crate) config: TcpConfig,
    pub(crate) way: Way,
    pub(crate) flows: Vec<Flow>,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    serial: u64,
    random: Stream,
    free_at: Instant,
    pub(crate) now: Instant,
    pub(crate) dropped: u64,
    /// Bytes that segments found queued: their sum, and how many segments.
    pub(crate) queue_seen: (u64, u64),
}

impl Net {
    /// Connections that start one after another and never lack data, unless `bytes` are all they have.
    pub(crate) fn new(config: TcpConfig, way: Way, flows: usize, bytes: Option<u64>, seed: u64) -> Self {
        let mut net = Self {
            way,
            flows: Vec::new(),
            events: BinaryHeap::new(),
            serial: 0,
            random: Seed(seed).stream("test.tcp", 0),
            free_at: Instant::ZERO,
            now: Instant::ZERO,
            dropped: 0,
            queue_seen: (0, 0),
            config,
        };
        for flow in 0..flows {
            let mut sender = TcpSender::new(&net.config);
            sender.write(bytes.unwrap_or(1 << 50));
            let start = Instant(net.random.below(net.way.delay.0 + 1));
            net.flows.push(Flow {
                sender,
                receiver: TcpReceiver::default(),
                replies: HashMap::new(),
                replied: 0,
                arrived: BTreeSet::new(),
                expected: 0,
                start,
                timer_at: Instant::NEVER,
                lost: BTreeSet::new(),
                sent: 0,
            });
            net.push(start, Event::Start(flow));
        }
        net
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.serial += 1;
        self.events.push(Reverse((at, self.serial, event)));
    }

    /// Runs until `end`, or until nothing happens any more.
    pub(crate) fn run(&mut self, end: Instant) {
        while let Some(&Reverse((at, _, event))) = self.events.peek()
            && at <= end
        {
            self.events.pop();
            self.now = at;
            match event {
                Event::Data(flow, start, end, is_marked) => {
                    self.deliver(flow, Block { start, end }, is_marked);
                }
                Event::Reply(flow, number) => {
                    let ack = self.flows[flow].replies.remove(&number).unwrap();
                    self.flows[flow].sender.on_ack(&self.config, at, &ack);
                    self.send(flow);
                }
                Event::Start(flow) => self.send(flow),
                Event::Timer(flow) => self.fire(flow),
            }
        }
    }

    fn send(&mut self, flow: usize) {
        while let Some(segment) = self.flows[flow].sender.poll_transmit(&self.config, self.now) {
            self.carry(flow, segment);
        }
        assert!(!self.flows[flow].sender.can_transmit(&self.config));
        self.arm(flow);
    }

    fn carry(&mut self, flow: usize, segment: Segment) {
        let Block { start, end } = segment.block;
        let number = self.flows[flow].sent;
        self.flows[flow].sent += 1;
        let copies = 1 + u64::from(self.random.below(1_000_000) < self.way.duplicate_ppm);
        for _ in 0..copies {
            let is_lost = self.random.below(1_000_000) < self.way.loss_ppm
                || self.way.loss_every.is_some_and(|every| number % every == every - 1);
            if is_lost || self.flows[flow].lost.contains(&number) {
                self.dropped += 1;
                continue;
            }
            if let Some((leaves, is_marked)) = self.queue(end - start) {
                let at = leaves + self.way.delay + Span(self.random.below(self.way.jitter.0 + 1));
                self.push(at, Event::Data(flow, start, end, is_marked));
            }
        }
    }

    /// When a segment has left the queue, and whether it was marked; none if the queue was full.
    fn queue(&mut self, bytes: u64) -> Option<(Instant, bool)> {
        let Some(rate) = self.way.rate else { return Some((self.now, false)) };
        let waits = self.free_at.max(self.now).since(self.now);
        let queued = (u128::from(waits.0) * u128::from(rate.bps()) / 8_000_000_000_000) as u64;
        self.queue_seen = (self.queue_seen.0 + queued, self.queue_seen.1 + 1);
        if queued + bytes > self.way.queue_bytes_max {
            self.dropped += 1;
            return None;
        }
        self.free_at = self.free_at.max(self.now) + rate.span_of(bytes + OVERHEAD_BYTES);
        Some((self.free_at, queued > self.way.mark_bytes))
    }

    fn deliver(&mut self, flow: usize, block: Block, is_marked: bool) {
        let state = &mut self.flows[flow];
        let replies = state.receiver.on_segment(&self.config, self.now, block, is_marked);
        let [before, reply] = replies;
        before.iter().for_each(|ack| state.check(ack));
        state.model(block);
        assert_eq!(state.receiver.delivered(), state.expected, "bytes are delivered once and in order");
        reply.iter().for_each(|ack| state.check(ack));
        for ack in replies.into_iter().flatten() {
            self.reply(flow, ack);
        }
        self.arm(flow);
    }

    fn reply(&mut self, flow: usize, ack: Acknowledgement) {
        if self.random.below(1_000_000) >= self.way.reply_loss_ppm {
            let state = &mut self.flows[flow];
            let number = state.replied;
            state.replied += 1;
            state.replies.insert(number, ack);
            let at = self.now + self.way.delay + Span(self.random.below(self.way.jitter.0 + 1));
            self.push(at, Event::Reply(flow, number));
        }
    }

    fn fire(&mut self, flow: usize) {
        if self.flows[flow].timer_at != self.now {
            return;
        }
        self.flows[flow].timer_at = Instant::NEVER;
        if let Some(ack) = self.flows[flow].receiver.on_timeout(self.now) {
            self.flows[flow].check(&ack);
            self.reply(flow, ack);
        }
        self.flows[flow].sender.on_timeout(&self.config, self.now);
        self.send(flow);
    }

    fn arm(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let due = state.sender.deadline().min(state.receiver.deadline());
        if due < state.timer_at {
            state.timer_at = due;
            self.push(due, Event::Timer(flow));
        }
    }
}

impl Flow {
    /// What a receiver should have delivered, found the slow way.
    fn model(&mut self, block: Block) {
        self.arrived.insert((block.start, block.end));
        while let Some(&(start, end)) = self.arrived.first()
            && start <= self.expected
        {
            self.arrived.pop_first();
            self.expected = self.expected.max(end);
        }
    }

    /// An acknowledgement says what arrived, and nothing else.
    fn check(&self, ack: &Acknowledgement) {
        assert_eq!(ack.offset, self.expected);
        for block in ack.sack.as_slice() {
            let mut covered = block.start;
            for &(start, end) in self.arrived.range((block.start, 0)..) {
                if start > covered || covered >= block.end {
                    break;
                }
                covered = covered.max(end);
            }
            assert!(block.start > ack.offset && covered == block.end, "{block:?} has not arrived whole");
        }
    }

    /// Payload that was acknowledged for each second since the start [bit/s].
    pub(crate) fn rate_bps(&self, now: Instant) -> u64 {
        (u128::from(self.sender.acked()) * 8_000_000_000_000 / u128::from(now.since(self.start).0)) as u64
    }
}
