package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// examine makes all checks of the fake host and node w.
func examine(t *testing.T, w *world, o Options) []Finding {
	t.Helper()
	found, err := Run(t.Context(), w, w, o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestHealthy: where all is well each check says so, and nothing is unknown.
func TestHealthy(t *testing.T) {
	spec.Covers(t, "OP-40")
	found := examine(t, healthy(), Options{Group: "all"})
	seen := map[string]bool{}
	for _, f := range found {
		seen[f.Check] = true
		if f.Outcome != OK || f.Seen == "" || f.Next != "" || f.Seen == "nothing to look at" {
			t.Errorf("%+v", f)
		}
	}
	for _, c := range Checks() {
		if !seen[c.ID] || c.Doc == "" {
			t.Errorf("check %q has found nothing, or has no text", c.ID)
		}
	}
	if Worst(found) != OK {
		t.Errorf("the gravest outcome is %v", Worst(found))
	}
}

const drop988 = `{"nftables": [{"chain": {"family": "inet", "table": "f", "name": "in", "type": "filter", "hook": "input", "prio": 0, "policy": "accept"}},
	{"rule": {"family": "inet", "table": "f", "chain": "in", "handle": 5, "expr": [
	{"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 988}}, {"drop": null}]}}]}`

// diseases are faults of the fake host and node, each with the finding that a check must add for it.
var diseases = []struct {
	check   string
	name    string
	spoil   func(w *world)
	outcome Outcome
	seen    string // text that the finding's field Seen must contain
	next    string // text that the finding's field Next must contain
}{
	{"daemon", "no answer", func(w *world) { w.statusErr = cli.Hint(errors.New("no daemon at x"), "is lnetd running?") }, Fail, "no daemon at x", "is lnetd running?"},
	{"daemon", "not configured", func(w *world) { w.status.Unconfigured = true }, Warn, "LNet is not configured", "lnetctl lnet configure"},
	{"link", "down", func(w *world) { w.tcp().Status, w.tcp().Cause = "down", "no carrier" }, Fail, "down: no carrier", "ip link show eth0"},
	{"port", "taken while lnetd is down", func(w *world) {
		w.statusErr = errors.New("no")
		w.listeners["tcp 0.0.0.0:988"] = "other (9)"
	}, Fail, "tcp port 988: other (9) has it", "accept_port"},
	{"port", "taken by a daemon that does not answer here", func(w *world) {
		w.statusErr = errors.New("no")
		w.listeners["tcp 0.0.0.0:988"] = "lnetd (9)"
	}, Fail, "lnetd (9) has it, and does not answer", "--socket"},
	{"link", "down while lnetd is down", func(w *world) {
		w.statusErr, w.addresses[0].Up = errors.New("no"), false
	}, Fail, "down: no carrier", "ip link show eth0"},
	{"firewall", "dropped while lnetd is down", func(w *world) {
		w.statusErr, w.ruleset = errors.New("no"), drop988
	}, Fail, "dropped by rule 5 of chain inet f in", "tcp dport 988 accept"},
	{"duplicate-nid", "claimed while lnetd is down", func(w *world) {
		w.statusErr, w.claimant = errors.New("no"), "02:00:00:00:00:07"
	}, Fail, "has the address 10.0.0.1, too", "another address"},
	{"daemon", "not permitted", func(w *world) { w.statusErr = &control.Error{Message: "permission denied"} }, Unknown, "may not ask the daemon", "as root"},
	{"daemon", "stuck", func(w *world) { w.statusErr = errMute }, Fail, "has not answered in time", "lnetctl bugreport"},
	{"port", "stuck", func(w *world) { w.statusErr = errMute }, Unknown, "of the daemon that runs", "see the check daemon"},
	{"reach", "not permitted", func(w *world) { w.pingErr = &control.Error{Message: "permission denied"} }, Unknown, "not permitted", "run it as root"},
	{"reach", "stuck", func(w *world) { w.pingErr = errMute }, Unknown, "has not answered in time", "net show"},
	{"port", "nothing listens", func(w *world) { delete(w.listeners, "tcp 10.0.0.1:988") }, Fail, "nothing has tcp 10.0.0.1:988", "network namespace"},
	{"port", "another listens", func(w *world) { w.listeners["tcp 10.0.0.1:988"] = "nc (8)" }, Warn, "taken by nc (8)", "ss -lnp"},
	{"port", "RoCE", func(w *world) { delete(w.listeners, "udp 10.0.0.1:4791") }, Fail, "nothing has udp 10.0.0.1:4791", ""},
	{"port", "none accepted", func(w *world) { w.tcp().LND.Listen = "" }, Warn, "accept is none", "accept: secure"},
	{"reserved-port", "not permitted", func(w *world) { w.tcp().LND.Reasons["no_reserved_port"] = 4 }, Fail, "4 connections were not dialled", "CAP_NET_BIND_SERVICE"},
	{"reserved-port", "all in use", func(w *world) { w.tcp().LND.Reasons["no_free_port"] = 1 }, Fail, "from 512 to 1023 are in use", "conns_per_peer"},
	{"reserved-port", "refused", func(w *world) { w.tcp().LND.Reasons["unprivileged_port"] = 2 }, Warn, "2 connections from ports above 1023", "accept: all"},
	{"reserved-port", "for everybody", func(w *world) { w.sysctls["net.ipv4.ip_unprivileged_port_start"] = "0" }, Warn, "ports from 0 on", "=1024"},
	{"firewall", "dropped", func(w *world) { w.ruleset = drop988 }, Fail, "dropped by rule 5 of chain inet f in", "tcp dport 988 accept"},
	{"firewall", "not permitted", func(w *world) { w.ruleErr = ErrNotPermitted }, Unknown, "not permitted", "as root"},
	{"firewall", "no nft", func(w *world) { w.ruleErr = ErrNotThere }, Unknown, "cannot be read", "iptables"},
	{"firewall", "not JSON", func(w *world) { w.ruleset = "{" }, Unknown, "not understood", "nft list ruleset"},
	{"mtu", "black hole", func(w *world) {
		w.echo = func(size int) error {
			if size > 1400 {
				return ErrNoAnswer
			}
			return nil
		}
	}, Fail, "those of 1500, the MTU of interface eth0, are not", "same MTU"},
	{"mtu", "known path", func(w *world) { w.route.MTU = 1300 }, Warn, "carries packets of 1300 bytes", "same MTU"},
	{"mtu", "silent host", func(w *world) { w.echo = func(int) error { return ErrNoAnswer } }, Unknown, "does not answer pings of ICMP", ""},
	{"mtu", "not permitted", func(w *world) { w.echo = func(int) error { return ErrNotPermitted } }, Unknown, "not permitted", "as root"},
	{"mtu", "RoCE too long", func(w *world) { w.o2ib().LND.Verbs.MTU = 4096 }, Fail, "have 4156 bytes, and interface eth0 takes 1500", "mtu 4156"},
	{"clock", "not synchronized", func(w *world) { w.clock.Synchronized = false }, Warn, "nothing keeps the clock right", "chronyd"},
	{"clock", "error", func(w *world) { w.clock.MaxError = 16 * time.Second }, Warn, "may be 16s", "timedatectl"},
	{"clock", "set forward", func(w *world) { w.clock.Wall = w.clock.Wall.Add(time.Minute) }, Warn, "set forward by 1m0s", ""},
	{"clock", "put back", func(w *world) { w.clock.Wall = w.clock.Wall.Add(-2 * time.Hour) }, Warn, "lnetd began 2h0m0s after", "restart lnetd"},
	{"clock", "of others", func(w *world) { w.members[1].Offset = -7 * time.Second }, Warn, "10.0.0.2@tcp by -7s", "synchronize"},
	{"clock", "unreadable", func(w *world) { w.clockErr = errors.New("no clock") }, Unknown, "no clock", ""},
	{"duplicate-nid", "claimed", func(w *world) { w.claimant = "02:00:00:00:00:07" }, Fail, "02:00:00:00:00:07 has the address 10.0.0.1, too", "another address"},
	{"duplicate-nid", "not permitted", func(w *world) { w.claimErr = ErrNotPermitted }, Unknown, "not permitted", "as root"},
	{"tunables", "queue depth", func(w *world) { w.conns["o2ib"][0].Conns[0].QueueDepth = 4 }, Warn, "shorter than peer_credits, 8, to 10.0.0.3@o2ib (4)", "same peer_credits"},
	{"tunables", "refused", func(w *world) { w.o2ib().LND.Reasons["refused_depth"] = 3 }, Warn, "3 requests for longer queues", "same peer_credits"},
	{"tunables", "checksums", func(w *world) { w.tcp().LND.Reasons["bad_checksum"] = 3 }, Warn, "3 messages had a wrong checksum", "enable_csum"},
	{"tunables", "of a group", func(w *world) { w.members = append(w.members, Member{NID: kern, Digest: "b"}) }, Warn, "2 members have one configuration, another one have 10.0.0.3@o2ib", "lnetctl export"},
	{"tunables", "no group", func(w *world) { w.memberErr = errors.New("no such group") }, Unknown, "no such group", "scollctl status"},
	{"reach", "silent", func(w *world) { w.silent[peer] = true }, Fail, "no answer: connection timed out", "is the node up"},
	{"reach", "one way", func(w *world) {
		w.silent[peer] = true
		w.conns["tcp"] = []drivers.Peer{{ID: nid.ProcessID{NID: peer}, Conns: []drivers.Conn{{Dialed: false}}}}
	}, Fail, "it reaches this node, and is not reached", "firewall of the peer"},
	{"reach", "one interface", func(w *world) {
		second := *w.tcp()
		second.NID = nid.MustParse("10.0.1.1@tcp")
		w.status.NIs = append(w.status.NIs, second)
		w.deaf[second.NID] = true
	}, Fail, "1 interfaces reach it, 1 do not", "lnetctl net del"},
	{"reach", "another way back", func(w *world) {
		w.route.Source = nid.MustParse("10.0.9.9@tcp").Addr()
		w.sysctls["net.ipv4.conf.eth0.rp_filter"] = "1"
	}, Fail, "leaves from 10.0.9.9, and rp_filter of eth0 is strict", "rp_filter=2"},
	{"reach", "nobody", func(w *world) { w.peers = nil }, Unknown, "no peers", "lnetctl doctor NID"},
	{"credits", "waiting", func(w *world) { w.tcp().Credits = -4 }, Fail, "4 messages wait for a credit of the interface now", "raise credits"},
	{"credits", "waited", func(w *world) { w.tcp().MinCredits = -9 }, Warn, "up to 9 messages waited", "raise credits above 256"},
	{"credits", "of a peer", func(w *world) { w.peers[0] = lnet.PeerSnapshot{NID: peer, Credits: -5, MinCredits: -5, Queued: 5} }, Fail, "10.0.0.2@tcp (5 messages)", "peer show"},
	{"credits", "of a peer before", func(w *world) { w.peers[0].MinCredits = -6 }, Warn, "10.0.0.2@tcp (up to 6 messages)", "peer_credits"},
	{"credits", "of RDMA", func(w *world) { w.o2ib().LND.Reasons["credit_timeout"] = 1 }, Fail, "waited too long for credits", ""},
	{"credits", "receive buffers", func(w *world) { w.o2ib().LND.Verbs.Receives.Empty = 2 }, Warn, "2 packets found no receive buffer", "rx_buffers"},
	{"icrc", "damaged", func(w *world) { w.o2ib().LND.Verbs.Counters["bad_icrc"] = 11 }, Fail, "11 packets had a wrong ICRC", "NAT"},
	{"gro", "off", func(w *world) { w.iface.GRO["gro"] = false }, Warn, "gro of interface eth0 is off", "ethtool -K eth0 gro on"},
	{"gro", "not known", func(w *world) { w.iface.GRO = nil }, Unknown, "not known", "ethtool -k eth0"},
}

// TestDiseases: each fault in the table diseases leads to its finding, with what was seen and what to do.
// The table has a fault for every check.
func TestDiseases(t *testing.T) {
	spec.Covers(t, "OP-40", "OP-41", "OP-42", "OP-43")
	tested := map[string]bool{}
	for _, d := range diseases {
		tested[d.check] = true
		w := healthy()
		d.spoil(w)
		checkReasons(t, w)
		found := examine(t, w, Options{Group: "all", AcceptPort: 988})
		if !has(found, d.check, d.outcome, d.seen, d.next) {
			t.Errorf("%s, %s: want %v with %q and %q in\n%s", d.check, d.name, d.outcome, d.seen, d.next, lines(found, d.check))
		}
		for _, f := range found {
			if f.Outcome != OK && f.Next == "" {
				t.Errorf("%s, %s: nothing to do about %+v", d.check, d.name, f)
			}
		}
		if want := d.outcome; want != Unknown && Worst(found) == OK {
			t.Errorf("%s, %s: the gravest outcome is ok", d.check, d.name)
		}
	}
	for _, c := range Checks() {
		if !tested[c.ID] {
			t.Errorf("no test makes check %s find something", c.ID)
		}
	}
}

// checkReasons checks that the drivers have the counters that a test has set. The checks look for the
// same names, so it finds a misspelt name in a check, too.
func checkReasons(t *testing.T, w *world) {
	t.Helper()
	for r := range w.tcp().LND.Reasons {
		if !slices.ContainsFunc(socklnd.Reasons(), func(known socklnd.Reason) bool { return known.String() == r }) {
			t.Errorf("socklnd has no reason %s", r)
		}
	}
	for r := range w.o2ib().LND.Reasons {
		if !slices.ContainsFunc(o2iblnd.Reasons(), func(known o2iblnd.Reason) bool { return known.String() == r }) {
			t.Errorf("o2iblnd has no reason %s", r)
		}
	}
}

func has(found []Finding, check string, v Outcome, seen, next string) bool {
	for _, f := range found {
		if f.Check == check && f.Outcome == v && strings.Contains(f.Seen, seen) && strings.Contains(f.Next, next) {
			return true
		}
	}
	return false
}

func lines(found []Finding, check string) string {
	var b strings.Builder
	for _, f := range found {
		if f.Check == check {
			fmt.Fprintf(&b, "  %+v\n", f)
		}
	}
	return b.String()
}

// TestSilentMembers: if a member has not reported its configuration or clock, these are unknown. They do not count
// as a different configuration, nor as a correct clock, however many members have not reported theirs.
func TestSilentMembers(t *testing.T) {
	spec.Covers(t, "OP-40", "OP-41")
	w := healthy()
	w.members = append(w.members, Member{NID: kern}, Member{NID: nid.MustParse("10.0.0.4@tcp")}, Member{NID: nid.MustParse("10.0.0.5@tcp")})
	found := examine(t, w, Options{Group: "all"})
	for check, same := range map[string]string{"tunables": "2 members have the same", "clock": "2 clocks within"} {
		if !has(found, check, OK, same, "") || !has(found, check, Unknown, "10.0.0.3@o2ib, 10.0.0.4@tcp, 10.0.0.5@tcp", "scollctl") {
			t.Error(lines(found, check))
		}
	}
	if Worst(found) != OK {
		t.Errorf("the gravest outcome is %v", Worst(found))
	}
	w.members = w.members[2:]
	found = examine(t, w, Options{Group: "all"})
	if has(found, "tunables", OK, "members", "") || has(found, "clock", OK, "clocks within", "") {
		t.Error("of members that have reported nothing:", lines(found, "tunables"), lines(found, "clock"))
	}
}

// TestTake: the clock of a member is known once an answer has its offset and the bound of its error.
func TestTake(t *testing.T) {
	var m Member
	if m.take(&scoll.Answer{Digest: "a", Error: "refused"}); m != (Member{Digest: "a"}) {
		t.Errorf("an answer without clock: %+v", m)
	}
	if m.take(&scoll.Answer{OffsetNS: new(int64(0)), BoundNS: new(int64(7))}); m != (Member{Digest: "a", Timed: true, Bound: 7}) {
		t.Errorf("an answer with a clock: %+v", m)
	}
}

// TestSuspended: if the host was suspended, the check of clocks does not report the length of the suspension as a
// step of the clock.
func TestSuspended(t *testing.T) {
	w := healthy()
	w.clock.Wall, w.clock.Boot = w.clock.Wall.Add(time.Minute), w.clock.Boot+time.Minute
	if found := examine(t, w, Options{}); !has(found, "clock", OK, "suspended for 1m0s", "") {
		t.Error(lines(found, "clock"))
	}
}

// TestManyPeers: of many peers the first 32 are examined, and a finding says how many others there are.
func TestManyPeers(t *testing.T) {
	w := healthy()
	for n := range uint32(40) {
		w.peers = append(w.peers, lnet.PeerSnapshot{NID: nid.FromNumber(peer.Net(), 0x0a000100+n)})
	}
	found := examine(t, w, Options{})
	if !has(found, "reach", Unknown, "9 more peers", "arguments") || !has(found, "mtu", Unknown, "9 more peers", "arguments") {
		t.Error(lines(found, "reach"), lines(found, "mtu"))
	}
}

// TestFamilies: no packets are sent from an address to one of another version of IP.
func TestFamilies(t *testing.T) {
	w := healthy()
	w.statusErr = errors.New("no daemon")
	w.addresses = append(w.addresses, Address{"eth0", netip.MustParseAddr("fd00::1"), true})
	found := examine(t, w, Options{Peers: []nid.NID{peer}})
	if !has(found, "mtu", OK, "to 1 peers", "") || !has(found, "mtu", OK, "to 0 peers", "") {
		t.Error(lines(found, "mtu"))
	}
}

// TestCancelled: an interrupt ends the examination.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := healthy()
	w.echo = func(int) error { cancel(); return context.Canceled }
	if _, err := Run(ctx, w, w, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestLimit: even if the daemon, the peers or the host never answer, the examination ends soon after its
// time limit. What it could not find out is unknown, and no finding is a failure.
func TestLimit(t *testing.T) {
	spec.Covers(t, "OP-41")
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, stuck := range map[string]func(*world){
		"daemon": func(w *world) { w.hang = hang },
		"peers":  func(w *world) { w.pingHang = hang },
		"host":   func(w *world) { w.echo = func(int) error { return hang(w.ctx) } },
	} {
		synctest.Test(t, func(t *testing.T) {
			w := healthy()
			// The echo of the fake host ends with ctx, which ends later than Options.Limit: if both ended
			// at the same instant, either could come first.
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			defer cancel()
			w.ctx = ctx
			stuck(w)
			began := time.Now()
			found, err := Run(t.Context(), w, w, Options{Limit: 2 * time.Second})
			if took := time.Since(began); err != nil || took > 3*time.Second {
				t.Errorf("%s: it took %v, %v", name, took, err)
			}
			unknown := false
			for _, f := range found {
				unknown = unknown || f.Outcome == Unknown && strings.Contains(f.Seen+f.Next, "limit")
				if f.Outcome == Fail {
					t.Errorf("%s: %+v", name, f)
				}
			}
			if !unknown {
				t.Errorf("%s: nothing says that the time was over: %+v", name, found)
			}
		})
	}
}

// TestStuckDaemon: a daemon that does not answer is reported within the time for one answer, and checks
// that need no daemon are made.
func TestStuckDaemon(t *testing.T) {
	spec.Covers(t, "OP-41")
	synctest.Test(t, func(t *testing.T) {
		w := healthy()
		w.hang = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		began := time.Now()
		found := examine(t, w, Options{AcceptPort: 988})
		if took := time.Since(began); took > answerLimit+time.Second {
			t.Errorf("it took %v", took)
		}
		if !has(found, "daemon", Fail, "lnetd has not answered in time", "bugreport") || !has(found, "firewall", OK, "let in", "") || !has(found, "clock", OK, "synchronized", "") {
			t.Errorf("%+v", found)
		}
	})
}

// TestUnprivileged: without privileges, the findings of checks that need them are unknown, not failures,
// and say what is missing.
func TestUnprivileged(t *testing.T) {
	spec.Covers(t, "OP-41")
	w := healthy()
	w.ruleErr, w.claimErr, w.pingErr = ErrNotPermitted, ErrNotPermitted, &control.Error{Message: "permission denied"}
	w.echo = func(int) error { return ErrNotPermitted }
	w.memberErr = w.pingErr
	found := examine(t, w, Options{Group: "all"})
	for _, check := range []string{"firewall", "duplicate-nid", "reach", "mtu", "tunables"} {
		if !has(found, check, Unknown, "not permitted", "root") {
			t.Error(check, lines(found, check))
		}
	}
	if Worst(found) != OK {
		t.Errorf("%+v", found)
	}
}

// TestSlowPings: the check of clocks does not report the time that other checks take as a step of the clock.
func TestSlowPings(t *testing.T) {
	spec.Covers(t, "OP-41")
	w := healthy()
	var mu sync.Mutex
	w.echo = func(int) error {
		mu.Lock()
		defer mu.Unlock()
		w.clock.Wall, w.clock.Monotonic, w.clock.Boot = w.clock.Wall.Add(2*time.Second), w.clock.Monotonic+2*time.Second, w.clock.Boot+2*time.Second
		return ErrNoAnswer
	}
	if found := examine(t, w, Options{}); !has(found, "clock", OK, "was not set", "") {
		t.Error(lines(found, "clock"))
	}
}

// TestNamedElsewhere: a peer that the user has named has a finding, also one that is on no network of
// this node.
func TestNamedElsewhere(t *testing.T) {
	spec.Covers(t, "OP-40")
	far := nid.MustParse("10.9.0.1@tcp7")
	for _, o := range []Options{{Peers: []nid.NID{far, own}}, {Peers: []nid.NID{peer, far, own}}} {
		w := healthy()
		if found := examine(t, w, o); !has(found, "reach", OK, "answers; it is on no network", "") || !has(found, "reach", OK, "is this node", "") {
			t.Error(lines(found, "reach"))
		}
		w.silent[far] = true
		if found := examine(t, w, o); !has(found, "reach", Fail, "no interface on network tcp7", "route show") {
			t.Error(lines(found, "reach"))
		}
	}
}
