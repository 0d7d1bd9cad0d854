package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

// laptop is a host with the interfaces eth0 and eth1, and a node on them.
type laptop struct {
	t  *testing.T
	at *netlab.Host
	n  *node.Node
}

// with returns a configuration with an NI on eth0 and, unless credits is "", an NI on eth1 with these peer_credits.
func with(t *testing.T, credits string) *config.Loaded {
	text := "net:\n  - net type: tcp\n    local NI(s):\n      - interfaces: {0: eth0}\n"
	if credits != "" {
		text += "  - net type: tcp1\n    local NI(s):\n      - interfaces: {0: eth1}\n        tunables: {peer_credits: " + credits + "}\n"
	}
	return loaded(t, text)
}

// newLaptop starts a node with an NI on eth1 that has 8 credits and the address 10.8.0.5.
func newLaptop(t *testing.T) *laptop {
	lab := netlab.New(t)
	h := &laptop{t: t, at: lab.Host("own")}
	other := lab.Host("other")
	lab.Cable(h.at, "10.7.0.5/24", other, "10.7.0.1/24")
	lab.Cable(h.at, "10.8.0.5/24", other, "10.8.0.1/24")
	h.must(func() (err error) {
		h.n, err = node.New(node.Config{Config: with(t, "8").Config})
		return err
	})
	t.Cleanup(func() {
		if err := h.n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *laptop) must(f func() error) {
	h.t.Helper()
	if err := h.at.Do(f); err != nil {
		h.t.Fatal(err)
	}
}

// address adds an address of eth1, or removes one.
func (h *laptop) address(change func(netlink.Link, *netlink.Addr) error, addr string) {
	h.t.Helper()
	h.must(func() error {
		link, err := netlink.LinkByName("eth1")
		if err != nil {
			return err
		}
		a, err := netlink.ParseAddr(addr)
		if err != nil {
			return err
		}
		return change(link, a)
	})
}

// reload reloads another configuration of eth1, and fails the test if the node then has other NIDs than those of want.
func (h *laptop) reload(credits, want string) {
	h.t.Helper()
	h.must(func() error {
		_, err := h.n.Reload(h.t.Context(), with(h.t, "8"), with(h.t, credits))
		return err
	})
	h.has(want)
}

func (h *laptop) has(want string) {
	h.t.Helper()
	if got := strings.Trim(fmt.Sprint(h.n.NIDs()), "[]"); got != want {
		h.t.Errorf("NIDs %s, want %s", got, want)
	}
}

// events are changes of eth1 after which its name no longer stands for the address of its NI. After the change the
// name stands for the address in the field now, or for none if now is "".
var events = []struct {
	name, now string
	happen    func(*laptop)
}{
	{"interface gone", "", func(h *laptop) {
		h.must(func() error {
			link, err := netlink.LinkByName("eth1")
			if err != nil {
				return err
			}
			return netlink.LinkDel(link)
		})
	}},
	{"other address", "10.8.0.9", func(h *laptop) {
		h.address(netlink.AddrDel, "10.8.0.5/24")
		h.address(netlink.AddrAdd, "10.8.0.9/24")
	}},
	{"other first address", "10.8.0.9", func(h *laptop) {
		h.address(netlink.AddrAdd, "10.8.0.9/16")
		h.address(netlink.AddrDel, "10.8.0.5/24")
		h.address(netlink.AddrAdd, "10.8.0.5/24")
	}},
}

// TestReloadInterfaceChanged: a reload removes or starts again an NI that was started by the name of an interface,
// even if the name does not stand for its address now.
func TestReloadInterfaceChanged(t *testing.T) {
	spec.Covers(t, "OP-6")
	for _, e := range events {
		t.Run(e.name, func(t *testing.T) {
			h := newLaptop(t)
			e.happen(h)
			h.must(func() error {
				list, err := h.n.RunTime(with(t, "8"))
				if slices.ContainsFunc(list, func(s config.Source) bool { return s.Key == "networks" }) {
					t.Errorf("changed at run time: %v", list)
				}
				return err
			})
			h.reload("", "10.7.0.5@tcp")
		})
		if e.now != "" {
			t.Run(e.name+", other tunable", func(t *testing.T) {
				h := newLaptop(t)
				e.happen(h)
				h.reload("16", "10.7.0.5@tcp "+e.now+"@tcp1")
			})
		}
	}
}

// TestReloadLargeNIDGone: a node with a large NID is judged by this NID and by the one that it gets when lnetd starts,
// whether its interface has the IPv6 address or has lost it: a reload takes routes that fit one of both, and refuses
// others with the error of the start.
func TestReloadLargeNIDGone(t *testing.T) {
	spec.Covers(t, "OP-7")
	h := newLaptop(t)
	h.address(withoutDAD(netlink.AddrAdd), "fd88::5/64")
	takeDown(t, h.n)
	h.must(func() error {
		_, err := h.n.Configure(t.Context(), node.ConfigureRequest{Up: true, All: true, Large: true})
		return err
	})
	h.has("10.7.0.5@tcp fd88::5@tcp1")
	h.routes()
	h.address(netlink.AddrDel, "fd88::5/64")
	h.routes()
}

// withoutDAD returns a function that changes an address without duplicate address detection, during which it could not
// be used.
func withoutDAD(change func(netlink.Link, *netlink.Addr) error) func(netlink.Link, *netlink.Addr) error {
	return func(link netlink.Link, a *netlink.Addr) error {
		a.Flags = unix.IFA_F_NODAD
		return change(link, a)
	}
}

// routes reloads files with routes at a node that has the NID fd88::5@tcp1, and that gets 10.8.0.5@tcp1 when it starts.
func (h *laptop) routes() {
	h.t.Helper()
	for text, want := range map[string]string{
		"{net: o2ib, gateway: 10.8.0.9@tcp1}": "",
		"{net: o2ib, gateway: fd88::9@tcp1}":  "",
		"{net: o2ib, gateway: 10.8.0.5@tcp1}": "the gateway is this node",
		"{net: o2ib, gateway: fd88::5@tcp1}":  "No interface configured on the same net as gateway",
		"{net: tcp1, gateway: 10.8.0.9@tcp1}": "the gateway is on the net itself",
	} {
		from, to := with(h.t, "8"), with(h.t, "8")
		var err error
		if to.Imported, err = tree.Read([]byte("route:\n  - " + text + "\n")); err != nil {
			h.t.Fatal(err)
		}
		to.LNetConf = "lnet.conf"
		h.must(func() error {
			_, err := h.n.Reload(h.t.Context(), from, to)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				h.t.Errorf("%s: error %v, want %q", text, err, want)
			}
			if err != nil {
				return nil
			}
			_, err = h.n.Reload(h.t.Context(), to, from)
			return err
		})
	}
}

// TestRemoveInterfaceChanged: 'net del --if' removes an NI that was started by the name of its interface, even if the
// name does not stand for the NI's address now.
func TestRemoveInterfaceChanged(t *testing.T) {
	for _, e := range events {
		t.Run(e.name, func(t *testing.T) {
			h := newLaptop(t)
			e.happen(h)
			h.must(func() error {
				_, err := h.n.Editor().RemoveNI(t.Context(), "tcp1", &tree.NI{Interfaces: tree.Interfaces{"eth1"}})
				return err
			})
			h.has("10.7.0.5@tcp")
		})
	}
}

// TestRemoveByNID: an item of a file that has a NID and an interface removes the NI with the NID, and no
// other one on the interface.
func TestRemoveByNID(t *testing.T) {
	n := startLoaded(t, loaded(t, freePort(t)+"networks: tcp(127.0.0.81,127.0.0.82)\n"))
	ni := n.Status().NIs[2]
	if _, err := n.Editor().RemoveNI(t.Context(), "tcp", &tree.NI{NID: ni.NID, Interfaces: tree.Interfaces{ni.Interface}}); err != nil {
		t.Fatal(err)
	}
	if got := n.NIDs(); len(got) != 1 || got[0] == ni.NID {
		t.Errorf("NIDs %v are left, want all but %v", got, ni.NID)
	}
}
