package scoll

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// TestWhoIsListed: the nodes in allow_members are listed or, if that is not set, the
// participants of gossip. Members of groups, allowed roots and allowed relays are listed, too.
// If there is no list of nodes at all, or there is a key, no node is a stranger.
func TestWhoIsListed(t *testing.T) {
	member, other, root := nidAt("10.0.0.2"), nidAt("10.0.0.9"), nidAt("10.0.0.3")
	group := []config.Group{{Name: "g", NIDs: []nid.NID{member}}}
	for _, test := range []struct {
		name      string
		gossip    []nid.NID
		scoll     config.Scoll
		strangers []nid.NID
	}{
		{"no list", nil, config.Scoll{}, nil},
		{"roots alone", nil, config.Scoll{Admin: config.Admin{AllowRoots: setsOf(t, "10.0.0.3@tcp")}}, nil},
		{"gossip", []nid.NID{member}, config.Scoll{}, []nid.NID{other, root}},
		{"groups", nil, config.Scoll{Groups: group}, []nid.NID{other, root}},
		{"a root besides", nil, config.Scoll{Groups: group, Admin: config.Admin{AllowRoots: setsOf(t, "10.0.0.3@tcp")}}, []nid.NID{other}},
		{"allow_members", []nid.NID{other}, config.Scoll{AllowMembers: setsOf(t, "10.0.0.[2-3]@tcp")}, []nid.NID{other}},
		{"a group besides", nil, config.Scoll{AllowMembers: setsOf(t, "10.0.0.3@tcp"), Groups: group}, []nid.NID{other}},
	} {
		m := newModule(&config.Config{Gossip: config.Gossip{NIDs: test.gossip}})
		c := &collective{m: m, cfg: test.scoll, self: nidAt("10.0.0.1")}
		c.cfg.MaxMembers = 10
		if err := c.configureGroups(); err != nil {
			t.Fatal(err)
		}
		c.listed.Store(c.newList())
		for _, id := range []nid.NID{member, other, root} {
			want := false
			for _, s := range test.strangers {
				want = want || s == id
			}
			if got := c.isStranger(id); got != want {
				t.Errorf("%s: %v a stranger: %v", test.name, id, got)
			}
		}
	}
}

// TestDistrust: actions run only if peers must send from ports that only root may use, or there is a
// key, or actions_without_identity is set.
func TestDistrust(t *testing.T) {
	key, err := keyring.NewKeys([]byte("sixteen bytes at least"))
	if err != nil {
		t.Fatal(err)
	}
	tcp, o2ib := nidAt("10.0.0.2"), nid.MustParse("10.0.0.2@o2ib")
	for _, test := range []struct {
		name   string
		change func(*config.Config)
		of     nid.NID
		want   string
	}{
		{"the default", func(*config.Config) {}, tcp, ""},
		{"another port", func(c *config.Config) { c.AcceptPort = 7988 }, tcp, "accept: trust"},
		{"secure there", func(c *config.Config) { c.AcceptPort, c.Accept = 7988, "secure" }, tcp, "accept_port: 7988"},
		{"trust", func(c *config.Config) { c.Accept = "trust" }, tcp, "accept: trust"},
		{"all", func(c *config.Config) { c.Accept = "all" }, tcp, "accept: all"},
		{"none", func(c *config.Config) { c.Accept = "none" }, tcp, ""},
		{"a key", func(c *config.Config) { c.Accept, c.Scoll.Keys = "trust", key }, tcp, ""},
		{"a word", func(c *config.Config) { c.Accept, c.Scoll.Admin.Unidentified = "trust", true }, tcp, ""},
		{"over RDMA", func(*config.Config) {}, o2ib, "require_privileged_port: 0 in the section o2ib"},
		{"any name by any connection", func(c *config.Config) { c.SourceCheck = false }, tcp, "source_check: off"},
		{"the same over RDMA", func(c *config.Config) { c.SourceCheck, c.O2IB.LND.RequirePrivilegedPort = false, true }, o2ib, "source_check: off"},
		{"over RDMA, privileged", func(c *config.Config) { c.O2IB.LND.RequirePrivilegedPort = true }, o2ib, ""},
	} {
		cfg := config.Default()
		test.change(&cfg)
		c := &collective{m: newModule(&cfg), cfg: cfg.Scoll}
		if got := c.distrust(test.of); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// sharedLog may be read while it is written.
type sharedLog struct {
	mu   sync.Mutex
	text bytes.Buffer // the log so far; guarded by mu
}

func (l *sharedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *sharedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestActionsNeedIdentity: if the nodes use ports above 1023, actions that other nodes order are
// refused, with a hint, until there is a key. At its start, a node logs what is open to all
// nodes.
func TestActionsNeedIdentity(t *testing.T) {
	key, err := keyring.NewKeys([]byte("sixteen bytes at least"))
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []keyring.Keys{{}, key} {
		var log sharedLog
		nodes := scollNodesLogging(t, 2, slog.New(slog.NewTextHandler(&log, nil)), func(c *config.Config) {
			c.Scoll.Keys = keys
			c.Scoll.Admin.AllowRoots = setsOf(t, "127.0.0.71@tcp")
			c.Scoll.Admin.Actions = []config.Action{{Name: "true", Run: []string{"/bin/true"}, Timeout: time.Minute}}
			if os.Geteuid() == 0 {
				c.Scoll.Admin.Actions[0].User = "65534"
			}
		})
		if err := nodes[0].CreateGroup(GroupCreate{Name: "g"}, strings.NewReader("127.0.0.[71-72]@tcp")); err != nil {
			t.Fatal(err)
		}
		r, err := nodes[0].Broadcast(t.Context(), BroadcastRequest{Group: "g", Verb: "run", Action: "true", TimeoutMS: 60_000}, nil)
		if err != nil || len(r.Answers) != 2 || r.Answers[0].Error != "" {
			t.Fatalf("%+v, %v", r, err)
		}
		refused := keys.Len() == 0
		if got := r.Answers[1].Error; (got != "") != refused || refused && (!strings.Contains(got, "key_file") || !strings.Contains(got, "actions_without_identity: yes")) {
			t.Errorf("%v: %q", keys, got)
		}
		for _, said := range []string{"take members and roots from everybody", "actions of others are refused"} {
			if strings.Contains(log.String(), said) != refused {
				t.Errorf("%v: the log says %q: %v", keys, said, !refused)
			}
		}
	}
}
