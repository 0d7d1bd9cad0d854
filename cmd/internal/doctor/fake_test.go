package doctor

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
	"time"

	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/node"
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// world is a host and a node whose answers a test sets. At first no answer shows a fault.
type world struct {
	listeners map[string]string // processes that listen, by network, address and port
	iface     Interface
	addresses []Address
	route     Route
	echo      func(size int) error
	claimant  string
	claimErr  error
	clock     Clock
	clockErr  error
	ruleset   string
	ruleErr   error
	sysctls   map[string]string

	statusErr error
	status    node.Status
	peers     []lnet.PeerSnapshot
	conns     map[string][]drivers.Peer
	silent    map[nid.NID]bool // peers that answer no ping
	deaf      map[nid.NID]bool // NIs from which no ping is answered
	members   []Member
	memberErr error
	pingErr   error                       // error of all pings, if not nil
	pingHang  func(context.Context) error // called for each ping, if not nil
	hang      func(context.Context) error // called for each request of the status, if not nil
	ctx       context.Context             // context of the test
}

var (
	own  = nid.MustParse("10.0.0.1@tcp")
	rdma = nid.MustParse("10.0.0.1@o2ib")
	peer = nid.MustParse("10.0.0.2@tcp")
	kern = nid.MustParse("10.0.0.3@o2ib")
)

var began = time.Unix(1_800_000_000, 0)

func healthy() *world {
	w := &world{
		listeners: map[string]string{"tcp 10.0.0.1:988": "lnetd (7)", "udp 10.0.0.1:4791": "lnetd (7)"},
		addresses: []Address{{"eth0", own.Addr(), true}},
		iface:     Interface{Name: "eth0", MTU: 1500, GRO: map[string]bool{"gro": true, "gso": true}},
		route:     Route{Source: own.Addr(), MTU: 1500},
		echo:      func(int) error { return nil },
		clock:     Clock{Wall: began.Add(time.Hour), Monotonic: 2 * time.Hour, Boot: 2 * time.Hour, Synchronized: true, MaxError: time.Millisecond},
		ruleset:   `{"nftables": []}`,
		sysctls:   map[string]string{"net.ipv4.ip_unprivileged_port_start": "1024", "net.ipv4.conf.all.rp_filter": "0"},
		conns:     map[string][]drivers.Peer{},
		silent:    map[nid.NID]bool{}, deaf: map[nid.NID]bool{},
	}
	w.status = node.Status{Incarnation: uint64(began.UnixNano()), Clock: time.Hour}
	for _, n := range []nid.NID{nid.Lo0(), own, rdma} {
		ni := node.NIStatus{NISnapshot: lnet.NISnapshot{NID: n, Status: "up", Interface: "eth0", Credits: 256, MinCredits: 200, Tunables: lnd.Tunables{Credits: 256, PeerCredits: 8}}}
		switch n {
		case own:
			ni.LND = drivers.Status{Accept: "secure", Listen: "10.0.0.1:988", Reasons: map[string]uint64{}}
		case rdma:
			ni.LND = drivers.Status{Provider: "softroce", Reasons: map[string]uint64{}, Verbs: &drivers.Verbs{MTU: 1024, Counters: map[string]uint64{}}}
		}
		w.status.NIs = append(w.status.NIs, ni)
	}
	w.peers = []lnet.PeerSnapshot{{NID: peer, Credits: 8, MinCredits: 3}, {NID: kern, Credits: 8, MinCredits: 3}}
	w.conns["o2ib"] = []drivers.Peer{{ID: nid.ProcessID{NID: kern}, Conns: []drivers.Conn{{QueueDepth: 8}}}}
	w.members = []Member{{NID: own, Digest: "a", Timed: true}, {NID: peer, Digest: "a", Timed: true, Offset: time.Millisecond}}
	return w
}

// tcp and o2ib are the NIs of the node.
func (w *world) tcp() *node.NIStatus  { return &w.status.NIs[1] }
func (w *world) o2ib() *node.NIStatus { return &w.status.NIs[2] }

func (w *world) Listener(network string, at netip.AddrPort) (string, error) {
	return w.listeners[network+" "+at.String()], nil
}
func (w *world) Interface(string) (Interface, error)     { return w.iface, nil }
func (w *world) Addresses() ([]Address, error)           { return w.addresses, nil }
func (w *world) Route(to netip.Addr) (Route, error)      { return w.route, nil }
func (w *world) Clock() (Clock, error)                   { return w.clock, w.clockErr }
func (w *world) Ruleset(context.Context) ([]byte, error) { return []byte(w.ruleset), w.ruleErr }

func (w *world) Echo(_ context.Context, _, _ netip.Addr, size int, _ time.Duration) error {
	return w.echo(size)
}

func (w *world) Claimant(context.Context, string, netip.Addr, time.Duration) (string, error) {
	return w.claimant, w.claimErr
}

func (w *world) Sysctl(name string) (string, error) {
	if v, ok := w.sysctls[name]; ok {
		return v, nil
	}
	return "", syscall.ENOENT
}

func (w *world) Status(ctx context.Context) (node.Status, error) {
	if w.hang != nil {
		return node.Status{}, w.hang(ctx)
	}
	return w.status, w.statusErr
}

func (w *world) Peers(context.Context) ([]lnet.PeerSnapshot, error) { return w.peers, nil }
func (w *world) Members(context.Context, string) ([]Member, error)  { return w.members, w.memberErr }

func (w *world) Connections(_ context.Context, net string) ([]drivers.Peer, error) {
	return w.conns[net], nil
}

func (w *world) Ping(ctx context.Context, r node.PingRequest) (reply node.PingReply, err error) {
	if w.pingHang != nil {
		return reply, w.pingHang(ctx)
	}
	if w.pingErr != nil {
		return reply, w.pingErr
	}
	if w.silent[r.Target.NID] || w.deaf[r.Source] {
		return reply, errors.Join(errors.New("ping failed"), syscall.ETIMEDOUT)
	}
	return reply, nil
}
