package analyze

import (
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
)

// Report says what an Analyzer has found.
type Report struct {
	Start    time.Time     `json:"start"`       // time of the first record
	Duration time.Duration `json:"duration_ns"` // time from the first to the last record, or to the instant of the report
	Totals
	Kinds      []KindRow   `json:"operations"` // operations by kind, service and portal
	Pairs      []PairRow   `json:"pairs"`      // operations by requester and target
	Links      []Link      `json:"links"`      // connections by the NIDs of their ends
	Slowest    []Operation `json:"slowest"`    // operations with the longest latencies, the longest first
	Unanswered []Operation `json:"unanswered"` // operations that have waited longest, the longest first

	timeline *timeline
}

// Totals are about the whole capture.
type Totals struct {
	Messages    uint64    `json:"messages"`               // LNet messages
	Bytes       uint64    `json:"bytes"`                  // bytes of their payloads
	Unmatched   Unmatched `json:"unmatched"`              // answers whose messages are not in the capture, or were forgotten
	LostBytes   uint64    `json:"lost_bytes,omitempty"`   // bytes of TCP that the capture lacks
	LostPackets uint64    `json:"lost_packets,omitempty"` // packets of RoCE that the capture lacks
	Unknown     uint64    `json:"unknown,omitempty"`      // runs of bytes that could not be parsed
	Forgotten   Forgotten `json:"forgotten"`              // what was not followed to its end
}

// Unmatched counts, by their kind, answers to messages that the Analyzer does not know.
type Unmatched struct {
	Acks           uint64 `json:"acks"`            // ACKs
	Replies        uint64 `json:"replies"`         // REPLYs
	ServiceReplies uint64 `json:"service_replies"` // PUTs that are replies of services
}

func (u *Unmatched) add(k Kind) { *[kinds]*uint64{&u.Acks, &u.Replies, &u.ServiceReplies}[k]++ }

// Forgotten counts what the Analyzer did not follow to its end, because its memory is bounded.
type Forgotten struct {
	Operations  uint64 `json:"operations"`  // operations that were forgotten before an answer came; a later answer is unmatched
	Connections uint64 `json:"connections"` // connections that were not followed, because too many were open
	Cookies     uint64 `json:"cookies"`     // zero-copy cookies that were not followed, because too many were under way
}

// KindRow is about the operations of one kind.
type KindRow struct {
	Kind    Kind   `json:"kind"`              // what asks and what answers
	Service string `json:"service,omitempty"` // name of the service, for requests
	Portal  uint32 `json:"portal"`            // portal of the message that asks
	Other   bool   `json:"other,omitempty"`   // the row is about all portals of this kind without a row of their own
	Counts
}

// PairRow is about the operations between two NIDs.
type PairRow struct {
	From  nid.NID `json:"src_nid"`         // the requester
	To    nid.NID `json:"dest_nid"`        // the target
	Other bool    `json:"other,omitempty"` // the row is about all pairs without a row of their own
	Counts
}

// Link is about the connections between two NIDs.
type Link struct {
	Ends [2]End `json:"ends"`           // the NIDs, or addresses of ends without a known NID; zero: all links without an entry
	RDMA bool   `json:"rdma,omitempty"` // the connections are those of o2iblnd
	LinkCounts
	Silence Silence       `json:"silence"` // times without a message
	Sides   [2]SideCounts `json:"sides"`   // what each end did, in the order of Ends
}

// LinkCounts are about connections.
type LinkCounts struct {
	Connections uint64 `json:"connections"`          // connections that were established, or were open before the capture and carried a message
	Open        int    `json:"open"`                 // connections that are open at the end of the capture
	MostOpen    int    `json:"most_open"`            // the largest number of connections that were open at one time
	Ended       uint64 `json:"ended"`                // connections that ended
	Reset       uint64 `json:"reset,omitempty"`      // connections that ended by a reset
	Reconnects  uint64 `json:"reconnects,omitempty"` // connections that replaced one that had ended
	Refused     uint64 `json:"refused,omitempty"`    // attempts to connect that the other side refused by a message of the protocol
	Failed      uint64 `json:"failed,omitempty"`     // attempts to connect that ended without being accepted or refused
}

// SideCounts are about what one end of a link did.
type SideCounts struct {
	Messages        uint64   `json:"messages"`                   // LNet messages that this end sent
	Bytes           uint64   `json:"bytes"`                      // payload bytes of the messages that this end sent
	Keepalives      uint64   `json:"keepalives,omitempty"`       // NOOPs of keepalive that this end sent
	Restarts        uint64   `json:"restarts,omitempty"`         // how often this end came back with another incarnation
	ZeroCopy        ZeroCopy `json:"zero_copy"`                  // zero-copy cookies of socklnd that this end sent
	CreditsReturned uint64   `json:"credits_returned,omitempty"` // credits of o2iblnd that this end gave back
	NoCredit        Stalls   `json:"no_credit"`                  // times in which this end had no credit of o2iblnd
	TCP             TCP      `json:"tcp"`                        // what TCP did for this end; zero for RDMA
}

// TCP is about what TCP did for one end. The counts of a connection are added when it ends, or when the
// capture ends.
type TCP struct {
	Repeated    uint64        `json:"repeated"`       // segments that this end sent again
	Late        uint64        `json:"late"`           // segments of this end that were captured after later ones
	ZeroWindows uint64        `json:"zero_windows"`   // how often this end closed its receive window
	ZeroWindow  time.Duration `json:"zero_window_ns"` // for how long this end's window was closed, in total
}

func (t *TCP) add(c capture.TCPCounts) {
	t.Repeated += c.Repeated
	t.Late += c.Late
	t.ZeroWindows += c.ZeroWindows
	t.ZeroWindow += c.ZeroWindow
}

// Report returns what was found so far. Operations without an answer count as waiting until the time now;
// the zero Time stands for the time of the last record.
func (a *Analyzer) Report(now time.Time) *Report {
	r := &Report{Start: a.start, Duration: a.last, Totals: a.sum, Slowest: append([]Operation{}, a.slowest.list...)}
	if a.begun && !now.IsZero() {
		r.Duration = max(a.last, now.Sub(a.start))
	}
	r.Kinds, r.Pairs, r.Links, r.Unanswered = []KindRow{}, []PairRow{}, []Link{}, []Operation{}
	for _, k := range a.kinds.sorted(kindKey.compare) {
		r.Kinds = append(r.Kinds, KindRow{k.Kind, k.Service, k.Portal, k.Other, a.kinds.byKey[k].counts()})
	}
	for _, k := range a.pairs.sorted(pairKey.compare) {
		r.Pairs = append(r.Pairs, PairRow{k.from, k.to, k == pairKey{}, a.pairs.byKey[k].counts()})
	}
	t := a.timeline // a copy, in which the report notes what lasts
	r.timeline = &t
	a.reportLinks(r)
	a.unanswered(r)
	return r
}

// unanswered lists the operations that wait, and notes them in the timeline of the report.
func (a *Analyzer) unanswered(r *Report) {
	for at := a.table.open.Front(); at != nil; at = at.Next() {
		e := at.Value.(*entry)
		if e.copied {
			continue
		}
		r.timeline.mark(e.at, markUnanswered)
		if len(r.Unanswered) < a.cfg.Listed {
			o := a.operation(e)
			o.Latency = r.Duration - e.at
			r.Unanswered = append(r.Unanswered, o)
		}
	}
}

// reportLinks describes the links, with the silences and stalls that still last.
func (a *Analyzer) reportLinks(r *Report) {
	at := map[*link]int{}
	for i, l := range a.links.sorted() {
		at[l] = i
		r.Links = append(r.Links, l.report(r))
	}
	for _, c := range a.links.conns { // any order: stalls are added up
		if c.link == nil {
			continue
		}
		for s := range c.credits {
			r.Links[at[c.link]].Sides[c.side(capture.Side(s))].NoCredit.add(c.credits[s].out, r.Duration)
		}
	}
}

// report describes a link at the end of a report.
func (l *link) report(r *Report) Link {
	out := Link{Ends: l.key, RDMA: l.roce, LinkCounts: l.sum, Silence: l.silent}
	out.Open, out.MostOpen = l.open, l.most
	if l.open > 0 && out.Silence.add(l.heard, r.Duration, l.limit) {
		r.timeline.mark(l.heard, markSilence)
	}
	for i := range l.sides {
		out.Sides[i] = l.sides[i].sum
		out.Sides[i].ZeroCopy.Full.add(l.sides[i].cookies.full, r.Duration)
	}
	return out
}
