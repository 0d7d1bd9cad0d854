//go:build linux

package main_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/health"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
)

// heldWithin bounds the time until servers and clients agree about their connections.
const heldWithin = 90 * time.Second

// clinic has three servers that keep records of clients on disk, and two clients, on loopback addresses. Its
// timeouts are a tenth of the defaults; the test sets the interval of the clients' pings.
type clinic struct {
	t        *testing.T
	commands lnetdtest.Commands
	port     uint16
	states   [5]string
	daemons  [5]*lnetdtest.Daemon
	keyFile  string // path of the key for connects; "": connects are not signed
	ping     time.Duration
	both     int          // number of a server whose node also has a client; 0: none
	gone     map[int]bool // nodes that are started without a client from now on
}

const clinicServers = 3

// newClinic starts a clinic. If there is a key file, clients sign their connect requests.
func newClinic(t *testing.T, keyFile string) *clinic {
	t.Helper()
	c := &clinic{t: t, commands: lnetdtest.Build(t), keyFile: keyFile, ping: 500 * time.Millisecond}
	c.startAll()
	return c
}

func (c *clinic) startAll() {
	c.t.Helper()
	var addrs []netip.Addr
	for i := range c.daemons {
		addrs = append(addrs, netip.MustParseAddr(clinicAddr(i)))
		c.states[i] = c.t.TempDir()
	}
	var err error
	if c.port, err = loopback.FreePort(addrs...); err != nil {
		c.t.Fatal(err)
	}
	for i := range c.daemons {
		c.start(i)
	}
}

func clinicAddr(i int) string { return fmt.Sprintf("127.0.0.%d", 91+i) }

func (c *clinic) start(i int) {
	c.t.Helper()
	settings := []string{"min_reconnectms: 20", "max_reconnectms: 100", "sock_timeout: 5"}
	if i < clinicServers {
		settings = append(settings, "scoll:", "  enable: 1", "gossip:", "  nids: ['127.0.0.[91-93]@tcp']", "  cold_start: 1", "  interval: 200ms",
			"health:", "  server: 1")
	}
	if client := i >= clinicServers || i == c.both && i > 0; client && !c.gone[i] {
		if i >= clinicServers {
			settings = append(settings, "health:", "  servers: ['127.0.0.[91-93]@tcp']")
		}
		settings = append(settings, "  client: 1", "  attach: all", fmt.Sprintf("  name: client-%d", i))
	}
	if i < clinicServers || !c.gone[i] {
		if c.keyFile != "" {
			settings = append(settings, "  key_file: "+c.keyFile)
		}
		settings = append(settings, "  times:", fmt.Sprintf("    ping: %v", c.ping),
			"    client: 4s", "    elect: 2s", "    evict: 8s", "    orphan: 8s", "    rtt: 50ms", "    tick: 50ms", "    broadcast: 500ms")
	}
	c.daemons[i] = c.commands.Start(c.t, lnetdtest.Config{
		Networks: "tcp(" + clinicAddr(i) + ")", Port: c.port, Settings: settings, StateDir: c.states[i],
	})
}

// status returns the status of client health of a daemon.
func (c *clinic) status(i int) healthmod.Status {
	c.t.Helper()
	s, err := healthmod.OpStatus.Call(c.t.Context(), c.daemons[i].Control(), control.None{})
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// held returns a server's entry of a client, if the client is connected to the server.
func (c *clinic) held(server int, id health.ClientID) (health.ClientInfo, bool) {
	info, err := healthmod.OpClient.Call(c.t.Context(), c.daemons[server].Control(), healthmod.ClientName{Client: id.String()})
	return info, err == nil
}

// awaitHeld waits until a client is connected to the given servers in its present incarnation,
// with its present master.
func (c *clinic) awaitHeld(client int, servers ...int) (s healthmod.ClientRole) {
	c.t.Helper()
	c.daemons[client].Until(heldWithin, "connection to all servers", func() bool {
		s = *c.status(client).Client
		for _, k := range servers {
			info, ok := c.held(k, s.Client)
			if !ok || info.State != "connected" || info.Incarnation != s.Incarnation || info.Master != s.Master {
				return false
			}
		}
		return s.State == "settled"
	})
	return s
}

// TestHealth: CH-4, CH-66, CH-2: three servers and two clients, all of them lnetd. All servers
// evict a client that is killed. A live client is not evicted, whatever happens to one of the
// servers and to its records.
func TestHealth(t *testing.T) {
	spec.Covers(t, "CH-2", "CH-4", "CH-66")
	if testing.Short() {
		t.Skip("starts ten daemons one after the other; skipped by -short")
	}
	c := newClinic(t, "")
	living := c.awaitHeld(3, 0, 1, 2)
	c.loseClient(c.awaitHeld(4, 0, 1, 2))
	c.restart(living)
	c.damage(living)
	c.refuse(living)
	if s := c.status(3); s.Client.Incarnation != living.Incarnation || s.Client.Stats["evictions"] != 0 {
		t.Errorf("the client that lives was evicted: %+v", s.Client)
	}
}

// loseClient kills the second client. All servers report it in their logs and state files.
func (c *clinic) loseClient(dead healthmod.ClientRole) {
	c.daemons[4].Kill()
	evicted := regexp.MustCompile(`level=INFO msg="client health" role=server event=evicted client=` + dead.Client.String() + ` name=client-4 .*cause=timed-out`)
	for i, d := range c.daemons[:clinicServers] {
		d.Until(heldWithin, "eviction", func() bool { _, held := c.held(i, dead.Client); return !held })
		d.Until(heldWithin, "line in the log", func() bool { return evicted.MatchString(d.Log()) })
		d.Until(heldWithin, "file", func() bool {
			text, err := os.ReadFile(filepath.Join(d.RuntimeDir(), "health", "clients"))
			return err == nil && strings.Contains(string(text), ` "client-3"`) && !strings.Contains(string(text), "client-4")
		})
	}
}

// restart kills and restarts a server. The restarted server knows its client from its records.
func (c *clinic) restart(living healthmod.ClientRole) {
	c.t.Helper()
	c.daemons[0].Kill()
	c.start(0)
	if !strings.Contains(c.daemons[0].Log(), `msg="client health" role=server event=recovered client=`+living.Client.String()) {
		c.daemons[0].Until(heldWithin, "recovery", func() bool {
			return strings.Contains(c.daemons[0].Log(), "event=recovered client="+living.Client.String())
		})
	}
	if s := c.awaitHeld(3, 0, 1, 2); s.Incarnation != living.Incarnation {
		c.t.Errorf("CH-66: evicted by a restart: %+v", s)
	}
}

// damage kills a server and damages its records. The restarted server sets them aside.
func (c *clinic) damage(living healthmod.ClientRole) {
	c.t.Helper()
	c.daemons[0].Kill()
	file := filepath.Join(c.states[0], healthmod.StoreName)
	if err := os.WriteFile(file, []byte(strings.Repeat("damage", 10_000)), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.start(0)
	s := c.status(0).Server.Store
	if _, err := os.Stat(s.SetAside); err != nil || s.Damage == "" || !strings.Contains(c.daemons[0].Log(), "the records of connections were damaged") {
		c.t.Errorf("%+v, %v", s, err)
	}
	if s := c.awaitHeld(3, 0, 1, 2); s.Incarnation != living.Incarnation {
		c.t.Errorf("evicted by damage: %+v", s)
	}
}

// refuse restarts a server with a state directory that cannot be written: the server accepts no
// clients and reports why. The other servers keep their clients.
func (c *clinic) refuse(living healthmod.ClientRole) {
	c.t.Helper()
	c.daemons[0].Kill()
	c.states[0] = "/proc/sys" // a directory that is read-only for every user
	c.start(0)
	c.daemons[0].Until(heldWithin, "refusal", func() bool { return c.status(0).Server.Stats["rejected_store_failed"] > 0 })
	if s := c.status(0).Server; s.Clients != 0 || s.Store.Error == "" || !strings.Contains(c.daemons[0].Log(), "connections cannot be recorded") {
		c.t.Errorf("%+v", s)
	}
	if s := c.awaitHeld(3, 1, 2); s.Incarnation != living.Incarnation || s.Master.String() == clinicAddr(0)+"@tcp" {
		c.t.Errorf("%+v", s)
	}
}
