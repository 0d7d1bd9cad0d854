// Package doctor looks at what usually is wrong with a node and its network: ports, firewall, MTU,
// clock, duplicate addresses, unequal settings, reachability, credits. Each check says what it
// has seen, whether that is right, and what to do next.
//
// It asks the daemon by its control socket ([Node]) and the system ([Host]). It changes nothing, and
// sends pings of LNet and of ICMP, requests of ARP for the node's own addresses, and, with a group of
// collectives, two requests to its members, for their configuration and clock. The findings depend
// only on what Node and Host return, so tests replace these two.
package doctor

import (
	"context"
	"fmt"
	"time"

	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// Outcome is how a check went.
type Outcome string

// The outcomes.
const (
	OK      Outcome = "ok"      // as it should be
	Warn    Outcome = "warn"    // the subject works, but not as well as it could, or perhaps not for long
	Fail    Outcome = "fail"    // something does not work
	Unknown Outcome = "unknown" // the check could not find out; Next says what it would need
)

// Finding is what a check has found out about one subject.
type Finding struct {
	Check   string  `json:"check"`             // id of the check
	Subject string  `json:"subject,omitempty"` // NID, pair of NIDs or interface that the finding is about
	Outcome Outcome `json:"outcome"`           // ok, warn, fail or unknown
	Seen    string  `json:"seen"`              // what was seen
	Next    string  `json:"next,omitempty"`    // what to do next
}

// Options say what to look at.
type Options struct {
	Peers      []nid.NID     // peers to examine; none: those that the node knows
	Group      string        // group of collectives whose members are compared with this node; "": all servers, if the node takes part in collectives
	AcceptPort uint16        // port that lnetd would listen on, if it does not run
	Timeout    time.Duration // longest wait for one answer of a peer, and of the daemon if it is longer than answerLimit; 0: 1 s
	Limit      time.Duration // longest time of all checks together; 0: 30 s
}

// Bounds of an examination.
const (
	maxPeers     = 32              // peers of an NI that are examined
	maxAddresses = 16              // addresses of the host that are examined when no daemon runs
	maxAtOnce    = 16              // peers that are asked at a time
	answerLimit  = 5 * time.Second // wait for an answer of the daemon that does not depend on peers, unless Timeout is longer
)

// Check is one thing that is looked at.
type Check struct {
	ID  string `json:"id"`  // word by which findings and documents name the check
	Doc string `json:"doc"` // what the check looks at

	run func(*exam)
}

// Checks returns all checks, in the order in which they are made.
func Checks() []Check {
	return []Check{
		{"daemon", "lnetd answers, and LNet is configured", (*exam).daemon},
		{"link", "every interface has a link", (*exam).links},
		{"port", "the port of the acceptor is lnetd's", (*exam).ports},
		{"reserved-port", "ports up to 1023, which accept: secure asks for, can be used and mean something", (*exam).reserved},
		{"firewall", "the rules of nftables let connections in", (*exam).firewall},
		{"mtu", "packets of full size reach the peers", (*exam).mtu},
		{"clock", "the clock is synchronized, and was not set since lnetd began", (*exam).clock},
		{"duplicate-nid", "no other host has an address of this node", (*exam).duplicates},
		{"reach", "all interfaces reach all peers, and are reached", (*exam).reach},
		{"tunables", "peers that are connected have the same settings", (*exam).tunables}, // after the check reach, which connects the peers
		{"credits", "messages do not wait for credits", (*exam).credits},
		{"icrc", "packets of RDMA in software arrive unchanged", (*exam).icrc},
		{"gro", "the interfaces of RDMA in software join and divide packets", (*exam).gro},
	}
}

// exam is one examination.
type exam struct {
	ctx   context.Context // ends with the time limit
	host  Host
	node  Node
	opts  Options
	check string // id of the check in progress
	found []Finding

	clocks [2]Clock // clocks of the host when the examination began, and at the check of clocks
	asked  Clock    // clocks of the host when status was read
	up     bool     // the daemon answers and LNet is configured
	mute   bool     // a daemon runs, but gives no state: LNet is not configured, it does not answer, or it refuses this user
	status node.Status
	peers  []lnet.PeerSnapshot
}

// Run makes all checks. It returns at least one finding for each check: unknown for those that have not
// begun when the time limit is over. The error is that of ctx.
func Run(ctx context.Context, h Host, n Node, o Options) ([]Finding, error) {
	if o.Timeout <= 0 {
		o.Timeout = time.Second
	}
	if o.Limit <= 0 {
		o.Limit = 30 * time.Second
	}
	limited, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	e := &exam{ctx: limited, host: h, node: bounded{n, max(answerLimit, o.Timeout)}, opts: o}
	e.clocks[0], _ = h.Clock() // an error needs no report here: the check "clock" reads the clocks again and reports it
	for _, c := range Checks() {
		e.make(&c)
		if err := ctx.Err(); err != nil {
			return e.found, err
		}
	}
	return e.found, nil
}

// make makes one check.
func (e *exam) make(c *Check) {
	e.check = c.ID
	before := len(e.found)
	if !e.late("") {
		c.run(e)
	}
	if len(e.found) == before {
		e.ok("", "nothing to look at")
	}
}

// late reports whether the time limit is over, and adds a finding that says so. A failure after that
// limit says nothing about the subject.
func (e *exam) late(subject any) bool {
	if e.ctx.Err() == nil {
		return false
	}
	e.unknown(subject, "give it more time with --limit, or name fewer peers", "not looked at: the time limit of %v is over", e.opts.Limit)
	return true
}

func (e *exam) add(o Outcome, subject any, next, seen string, args ...any) {
	e.found = append(e.found, Finding{Check: e.check, Subject: fmt.Sprint(subject), Outcome: o, Seen: fmt.Sprintf(seen, args...), Next: next})
}

func (e *exam) ok(subject any, seen string, args ...any) { e.add(OK, subject, "", seen, args...) }

func (e *exam) warn(subject any, next, seen string, args ...any) {
	e.add(Warn, subject, next, seen, args...)
}

func (e *exam) fail(subject any, next, seen string, args ...any) {
	e.add(Fail, subject, next, seen, args...)
}

func (e *exam) unknown(subject any, next, seen string, args ...any) {
	e.add(Unknown, subject, next, seen, args...)
}

// needsNode reports whether there is the state of a node. If there is none, it adds the finding that the
// check was not made.
func (e *exam) needsNode() bool {
	if !e.up {
		e.unknown("", "see the check daemon", "not looked at without a node")
	}
	return e.up
}

// Worst returns the gravest outcome of findings: fail, warn or ok. It counts unknown as ok.
func Worst(list []Finding) Outcome {
	worst := OK
	for _, f := range list {
		if f.Outcome == Fail || f.Outcome == Warn && worst == OK {
			worst = f.Outcome
		}
	}
	return worst
}
