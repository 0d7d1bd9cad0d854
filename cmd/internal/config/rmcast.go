package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// Rmcast is the section rmcast of the file: reliable multicast. The comment of each
// field begins with its key.
type Rmcast struct {
	Enable  bool    // enable: reliable multicast is on
	NID     nid.NID // nid: the NID under which the node takes part; zero: the only NID of the node
	Buffers int     // buffers: number of datagrams that can arrive at a time
	Members int     // max_members: bound of the members of a group
	Backlog int     // backlog: bytes of messages that wait for one listener

	KeyFile string       // key_file: path of the file with the keys
	Keys    keyring.Keys // keys that key_file has

	Groups []McastGroup // groups: in the order of their names
}

// McastGroup is a multicast group in the file.
type McastGroup struct {
	Name      string    // name of the group: its key
	Number    int       // number: number of the group
	Managers  []nid.NID // managers: NIDs in order of precedence
	Members   []nid.NID // members: nodes that may be members besides the managers; see [Config.McastMembers]
	Join      bool      // join: the node joins when the daemon starts
	FIFO      bool      // fifo: messages of an origin are delivered in order
	Multicast bool      // multicast: if false, all payload goes down the tree
	Window    int       // window: bound of an origin's datagrams in flight
	Fragment  int       // fragment: bytes of payload in one datagram

	MemberTimeout time.Duration // member_timeout: time after which a silent member is left behind; 0: never
	LeastFragment int           // least_fragment: refuse nodes with shorter datagrams; 0: send all payload down the tree for them
	LeastCapacity int           // least_capacity: room that senders assume at a receiver, even if it reports less
}

// MaxMcast is the longest message that commands send, in bytes.
const MaxMcast = 1 << 20

func defaultRmcast() Rmcast {
	return Rmcast{Buffers: 256, Members: 1024, Backlog: 64 << 20}
}

func (r *Rmcast) settings(file string) map[string]setting {
	return map[string]setting{
		"enable":      flag(&r.Enable),
		"nid":         oneNID(&r.NID),
		"buffers":     number(&r.Buffers, 1, 4096),
		"max_members": number(&r.Members, 1, wire.MaxMembers),
		"backlog":     number(&r.Backlog, 1<<20, maxBuffer),
		"key_file":    keyFile(&r.KeyFile, &r.Keys, file),
		"groups":      {func(value ast.Node) error { return r.takeGroups(file, value) }},
	}
}

func (g *McastGroup) settings() map[string]setting {
	return map[string]setting{
		"number":    number(&g.Number, 1, int(lnd.MaxGroup)),
		"managers":  members(&g.Managers),
		"members":   members(&g.Members),
		"join":      flag(&g.Join),
		"fifo":      flag(&g.FIFO),
		"multicast": flag(&g.Multicast),
		"window":    number(&g.Window, 1, engine.MaxWindow),
		"fragment":  number(&g.Fragment, 256, engine.MaxFragment),

		"member_timeout": duration(&g.MemberTimeout, time.Second, 0, 24*60*60),
		"least_fragment": number(&g.LeastFragment, 0, engine.MaxFragment),
		"least_capacity": number(&g.LeastCapacity, 0, maxBuffer),
	}
}

// takeGroups parses groups by their names.
func (r *Rmcast) takeGroups(file string, value ast.Node) error {
	return named(file, value, func(name string, entries []*ast.MappingValueNode) error {
		g := McastGroup{
			Name: name, Join: true, FIFO: true, Multicast: true, Window: 128, Fragment: 4096,
			MemberTimeout: 30 * time.Second, LeastCapacity: 64 << 10,
		}
		err := assign(g.settings(), file, entries)
		switch {
		case err != nil:
		case g.Number == 0:
			err = fmt.Errorf("group %s: number is missing: all nodes give the group the same", name)
		case g.LeastFragment > g.Fragment:
			err = fmt.Errorf("group %s: least_fragment is above fragment: no node could join", name)
		case len(g.Managers) == 0:
			err = fmt.Errorf("group %s: managers is missing: the NIDs of one node or more who keep the list of members", name)
		default:
			err = r.clash(&g)
		}
		r.Groups = append(r.Groups, g)
		return err
	})
}

// clash refuses a group whose number or name another group has.
func (r *Rmcast) clash(g *McastGroup) error {
	for i := range r.Groups {
		switch other := &r.Groups[i]; {
		case other.Name == g.Name:
			return errors.New("group " + g.Name + " stands there twice")
		case other.Number == g.Number:
			return fmt.Errorf("group %s: %s has number %d already", g.Name, other.Name, g.Number)
		}
	}
	return nil
}

// has reports whether the node takes part in a group.
func (r *Rmcast) has(group string) bool {
	return r.Enable && slices.ContainsFunc(r.Groups, func(g McastGroup) bool { return g.Name == group && g.FIFO })
}

// McastMembers returns the nodes that may be members of a group besides its managers. These are
// the nodes that the group lists. If the group has no list but there is a key, every node that
// has the key may be a member; the result is nil, which means all nodes. If there is no key
// either, the participants of gossip may be members, and without gossip all nodes.
func (c *Config) McastMembers(g *McastGroup) []nid.NID {
	switch {
	case len(g.Members) > 0:
		return g.Members
	case c.Rmcast.Keys.Len() == 0 && len(c.Gossip.NIDs) > 0:
		return c.Gossip.NIDs
	}
	return nil
}

// Fragment returns the largest fragment of all groups, in bytes.
func (r *Rmcast) Fragment() int {
	most := 0
	for i := range r.Groups {
		most = max(most, r.Groups[i].Fragment)
	}
	return most
}
