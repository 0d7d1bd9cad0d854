package scoll

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// TestDigest: settings that may differ between the nodes of a cluster, such as names and paths, do not change the
// digest. All other settings change it.
func TestDigest(t *testing.T) {
	a := config.Default()
	own := a
	own.Networks, own.Socket, own.StateDir, own.Capture = "tcp(eth7)", "s", "d", "c"
	own.Scoll.KeyFile = "keys"
	own.Scoll.NID, own.Gossip.NIDsAt = nidAt("10.0.0.7"), config.Position{File: "f", Line: 3}
	keys, err := keyring.NewKeys([]byte("sixteen bytes, or more"))
	if err != nil {
		t.Fatal(err)
	}
	own.Zone.Name, own.Zone.Node, own.Zone.Keys = "rack7", "n7", keys
	own.Gossip.KeyFile, own.Gossip.Keys = "keys", keys
	own.Handlers = []config.Handler{{Name: "h", Run: []string{"x"}}}
	if digestOf(a) != digestOf(own) {
		t.Error("nodes of a cluster differ")
	}
	seen := map[[32]byte]string{}
	for name, change := range map[string]func(*config.Config){
		"a number":    func(c *config.Config) { c.PeerCredits = 9 },
		"the port":    func(c *config.Config) { c.AcceptPort = 9 },
		"an action":   func(c *config.Config) { c.Scoll.Admin.Actions = []config.Action{{Name: "a", Run: []string{"x"}}} },
		"its program": func(c *config.Config) { c.Scoll.Admin.Actions = []config.Action{{Name: "a", Run: []string{"y"}}} },
		"a root":      func(c *config.Config) { c.Scoll.Admin.AllowRoots = setsOf(t, "10.0.0.1@tcp") },
		"a network":   func(c *config.Config) { c.Scoll.Admin.AllowRoots = setsOf(t, "*@tcp") },
		"a threshold": func(c *config.Config) { c.Zone.Threshold = 3 },
		"a member":    func(c *config.Config) { c.Gossip.NIDs = []nid.NID{nidAt("10.0.0.1")} },
	} {
		c := config.Default()
		change(&c)
		d := digestOf(c)
		if seen[d] != "" || d == digestOf(a) {
			t.Errorf("%s makes no difference %s", name, seen[d])
		}
		seen[d] = name
	}
}

// TestDigestLines: the digest is that of names and values, which do not change with the layout
// of the structs of a configuration.
func TestDigestLines(t *testing.T) {
	c := config.Default()
	c.AcceptPort, c.PeerTimeout, c.TCP.MinReconnect = 9, time.Minute, 2*time.Second
	c.Gossip.NIDs = []nid.NID{nidAt("10.0.0.1"), nidAt("10.0.0.2")}
	c.Scoll.Admin.AllowRoots = setsOf(t, "all")
	c.Scoll.Admin.Actions = []config.Action{{Name: "a b", Run: []string{"x"}}}
	want := []string{
		".AcceptPort \"9\"\n",
		".Gossip.NIDs has 2\n",
		".Gossip.NIDs[0] \"10.0.0.1@tcp\"\n",
		".Gossip.NIDs[1] \"10.0.0.2@tcp\"\n",
		".PeerTimeout \"1m0s\"\n",
		".Scoll.Admin.Actions has 1\n",
		".Scoll.Admin.Actions[0].Name \"a b\"\n",
		".Scoll.Admin.Actions[0].Run has 1\n",
		".Scoll.Admin.Actions[0].Run[0] \"x\"\n",
		".Scoll.Admin.Actions[0].Timeout \"0s\"\n",
		".Scoll.Admin.Actions[0].User \"\"\n",
		".Scoll.Admin.AllowRoots has 1\n",
		".Scoll.Admin.AllowRoots[0] \"all\"\n",
		".TCP.MinReconnect \"2s\"\n",
	}
	if got := unlike(reflect.ValueOf(c), reflect.ValueOf(config.Default())); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	type Part struct{ A, B int }
	one := struct {
		C int
		Part
	}{3, Part{1, 2}}
	flat := struct{ B, A, C, New int }{2, 1, 3, 0}
	none := reflect.ValueOf(struct{ A, B, C, New int }{})
	if a, b := unlike(reflect.ValueOf(one), none), unlike(reflect.ValueOf(flat), none); !slices.Equal(a, b) || len(a) != 3 {
		t.Errorf("%q, want %q", b, a)
	}
}
