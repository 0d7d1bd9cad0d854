// Package doctor looks at what usually is wrong with a node and its network: ports, firewall, MTU,
// clock, duplicate addresses, unequal settings, reachability, credits. Each check says what it
// has seen, whether that is right, and what to do next.
//
// It asks the daemon by its control socket ([Node]) and the system ([Host]). It changes nothing, and
// sends pings of LNet and of ICMP, and requests of ARP for the node's own addresses. Everything
// that decides is in functions of what these two told, so tests can tell anything.
package doctor

import (
	"context"
	"fmt"
	"time"

	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// Verdict is the result of a check.
type Verdict string

// The verdicts.
const (
	OK      Verdict = "ok"      // as it should be
	Warn    Verdict = "warn"    // it works, but not as well as it could, or not for long
	Fail    Verdict = "fail"    // something does not work
	Unknown Verdict = "unknown" // it could not be found out, and Next says what that takes
)

// Finding is what a check has found out about one subject.
type Finding struct {
	Check   string  `json:"check"`             // id of the check
	Subject string  `json:"subject,omitempty"` // NID, pair of NIDs or interface that it is about
	Verdict Verdict `json:"verdict"`           // ok, warn, fail or unknown
	Seen    string  `json:"seen"`              // what was seen
	Next    string  `json:"next,omitempty"`    // what to do next
}

// Options say what to look at.
type Options struct {
	Peers      []nid.NID     // peers to examine; none: those that the node knows
	Group      string        // group of collectives whose members are compared with this node; "": none
	AcceptPort uint16        // port that lnetd would listen on, if it does not run
	Timeout    time.Duration // longest wait for an answer; 0: 1 s
}

// maxPeers bounds how many peers are examined.
const maxPeers = 32

// Check is one thing that is looked at.
type Check struct {
	ID  string `json:"id"`  // word by which findings and documents name it
	Doc string `json:"doc"` // what it looks at

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
		{"tunables", "peers have the same settings", (*exam).tunables},
		{"reach", "all interfaces reach all peers, and are reached", (*exam).reach},
		{"credits", "messages do not wait for credits", (*exam).credits},
		{"icrc", "packets of RDMA in software arrive unchanged", (*exam).icrc},
		{"gro", "the interfaces of RDMA in software join and divide packets", (*exam).gro},
	}
}

// exam is one examination.
type exam struct {
	ctx   context.Context
	host  Host
	node  Node
	opts  Options
	check string // id of the check in progress
	found []Finding

	clocks [2]Clock // at the beginning and now
	up     bool     // the daemon answers and LNet is configured
	status node.Status
	peers  []lnet.PeerSnapshot
}

// Run makes all checks. It returns at least one finding for each; the error is that of ctx.
func Run(ctx context.Context, h Host, n Node, o Options) ([]Finding, error) {
	if o.Timeout <= 0 {
		o.Timeout = time.Second
	}
	e := &exam{ctx: ctx, host: h, node: n, opts: o}
	e.clocks[0], _ = h.Clock()
	for _, c := range Checks() {
		e.check = c.ID
		before := len(e.found)
		c.run(e)
		if err := ctx.Err(); err != nil {
			return e.found, err
		}
		if len(e.found) == before {
			e.ok("", "nothing to look at")
		}
	}
	return e.found, nil
}

func (e *exam) add(v Verdict, subject any, next, seen string, args ...any) {
	e.found = append(e.found, Finding{Check: e.check, Subject: fmt.Sprint(subject), Verdict: v, Seen: fmt.Sprintf(seen, args...), Next: next})
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

// needsNode reports whether the daemon answers. Without an answer it says that the check was not
// made.
func (e *exam) needsNode() bool {
	if !e.up {
		e.unknown("", "see the check daemon", "not looked at without a node")
	}
	return e.up
}

// Worst returns the gravest verdict of findings: fail, warn, or ok, which unknown counts as.
func Worst(list []Finding) Verdict {
	worst := OK
	for _, f := range list {
		if f.Verdict == Fail || f.Verdict == Warn && worst == OK {
			worst = f.Verdict
		}
	}
	return worst
}
