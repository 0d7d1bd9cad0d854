package config

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
	"ulnet/scoll"
	"ulnet/scoll/engine"
)

// Scoll is the section scoll of the file: collectives, their groups and their
// administration service. The comment of each field begins with its key.
type Scoll struct {
	Enable bool // enable: the node takes part in collectives

	NID         nid.NID       // nid: the NID under which this node takes part; zero: the NID of the node that is in the list of gossip, or the only NID of the node
	RTT         time.Duration // rtt: estimated round-trip time
	Guard       time.Duration // guard: what timeouts add to rtt for each level of the tree; 0: a quarter of rtt, at least 5 ms
	MinBulkRate int           // min_bulk_rate: lowest rate of bulk data, in bytes per second
	MaxActive   int           // max_active: bound of requests of other nodes that run
	MaxMembers  int           // max_members: bound of the nodes of a group
	MaxGroups   int           // max_groups: bound of the cached groups
	MaxTimeout  time.Duration // max_timeout: longest timeout of a broadcast
	Tree        scoll.Tree    // tree: type of tree of broadcasts
	Groups      []Group       // groups, in the order of the file

	AllowMembers []nid.Set    // allow_members; none: the participants of gossip and the members of groups
	KeyFile      string       // key_file: path of the file with the keys
	Keys         keyring.Keys // keys that key_file has

	Admin Admin // admin: section of the administration service
}

// Group is a named group of servers.
type Group struct {
	Name string     // name of the group: its key
	NIDs []nid.NID  // nids: NIDs of the members
	Tree scoll.Tree // tree: type of tree; zero: that of the section admin, or of scoll
}

// Admin is the section admin: what other nodes may run on this node.
type Admin struct {
	AllowRoots   []nid.Set  // allow_roots: nodes that may run actions here
	AllowRelays  []nid.Set  // allow_relays: nodes that may forward requests for actions to this node; empty: the members of all groups, and the participants of gossip
	Unidentified bool       // actions_without_identity: run actions even where any host can use any NID
	MaxBulk      int        // max_bulk: largest bulk data of a request, in bytes
	MaxMemory    int        // max_memory: bytes that requests may use together
	MaxActions   int        // max_actions: bound of the actions that run at a time
	Output       int        // output: bytes of an action's output that are kept
	Tree         scoll.Tree // tree: type of tree; zero: that of scoll
	Multicast    string     // multicast: the group of rmcast that carries bulk data; empty: none
	Actions      []Action   // actions, in the order of the file
}

// Action is a program that allowed roots may run here.
type Action struct {
	Name    string        // name by which roots ask for the action: its key
	Run     []string      // run: path of the program, and its arguments
	Timeout time.Duration // timeout: time after which the action is killed
	User    string        // user: user as which the action runs; empty: the user of lnetd
}

// MaxOutput bounds the part of an action's output that is kept, in bytes.
const MaxOutput = 64 << 10

// maxScollTime bounds the timeouts of broadcasts. The header of a request can express little more, see wire.MaxTime of scoll.
const maxScollTime = 71 * time.Minute

func defaultScoll() Scoll {
	return Scoll{
		RTT: engine.DefaultRTT, MinBulkRate: 100_000_000, MaxActive: 256, MaxMembers: 16384, MaxGroups: 8192,
		MaxTimeout: 10 * time.Minute,
		Tree:       scoll.Tree{Type: scoll.KNomial, K: 2},
		Admin: Admin{
			MaxBulk: 16 << 20, MaxMemory: 256 << 20, MaxActions: 4, Output: 2048,
		},
	}
}

// AdminTree is the tree of the administration service for groups without a tree of their own.
func (s *Scoll) AdminTree() scoll.Tree {
	return cmp.Or(s.Admin.Tree, s.Tree)
}

// Agent returns the configuration for package scoll.
func (s *Scoll) Agent() scoll.Config {
	return scoll.Config{
		Self: s.NID, RTT: s.RTT, Guard: s.Guard, MinBulkRate: s.MinBulkRate, MaxActive: s.MaxActive,
		MaxMembers: s.MaxMembers, MaxGroups: s.MaxGroups, MaxTimeout: s.MaxTimeout,
	}
}

func (s *Scoll) settings(file string) map[string]setting {
	return map[string]setting{
		"enable":        flag(&s.Enable),
		"nid":           oneNID(&s.NID),
		"rtt":           span(&s.RTT, 10*time.Microsecond, time.Minute),
		"guard":         span(&s.Guard, 0, time.Minute),
		"min_bulk_rate": number(&s.MinBulkRate, 1000, 1<<40),
		"max_active":    number(&s.MaxActive, 1, maxCount),
		"max_members":   number(&s.MaxMembers, 1, maxCount),
		"max_groups":    number(&s.MaxGroups, 1, maxCount),
		"max_timeout":   span(&s.MaxTimeout, 100*time.Millisecond, maxScollTime),
		"tree":          shape(&s.Tree),
		"allow_members": sets(&s.AllowMembers),
		"key_file":      keyFile(&s.KeyFile, &s.Keys, file),
		"groups":        {func(value ast.Node) error { return s.takeGroups(file, value) }},
		"admin":         section(file, s.Admin.settings(file), nil),
	}
}

func (a *Admin) settings(file string) map[string]setting {
	return map[string]setting{
		"allow_roots":              sets(&a.AllowRoots),
		"allow_relays":             sets(&a.AllowRelays),
		"actions_without_identity": flag(&a.Unidentified),
		"max_bulk":                 number(&a.MaxBulk, 0, maxBuffer),
		"max_memory":               number(&a.MaxMemory, 1<<20, 1<<40),
		"max_actions":              number(&a.MaxActions, 1, maxCount),
		"output":                   number(&a.Output, 0, MaxOutput),
		"tree":                     shape(&a.Tree),
		"multicast":                text(&a.Multicast, nil),
		"actions":                  {func(value ast.Node) error { return a.takeActions(file, value) }},
	}
}

// section parses a section with the given keys. The function check refuses values that do not fit together; at has
// the positions of the values of keys. If check is nil, all values fit together.
func section(file string, keys map[string]setting, check func(file string, at map[string]*token.Token) error) setting {
	return setting{func(value ast.Node) error {
		entries, err := sectionOf(file, value)
		if err == nil {
			err = assign(keys, file, entries)
		}
		if err == nil && check != nil {
			err = check(file, positionsOf(entries))
		}
		return err
	}}
}

// sectionOf returns the entries of a section.
func sectionOf(file string, value ast.Node) ([]*ast.MappingValueNode, error) {
	entries, err := mapping(file, value)
	if err != nil {
		return nil, errors.New("want lines of the form \"  key: value\" below it")
	}
	return entries, nil
}

// takeGroups parses groups by their names.
func (s *Scoll) takeGroups(file string, value ast.Node) error {
	return named(file, value, func(name string, entries []*ast.MappingValueNode) error {
		g := Group{Name: name}
		err := assign(map[string]setting{"nids": members(&g.NIDs), "tree": shape(&g.Tree)}, file, entries)
		if err == nil && len(g.NIDs) == 0 {
			err = fmt.Errorf("group %s: nids is missing", name)
		}
		s.Groups = append(s.Groups, g)
		return err
	})
}

// takeActions parses actions by their names.
func (a *Admin) takeActions(file string, value ast.Node) error {
	return named(file, value, func(name string, entries []*ast.MappingValueNode) error {
		act := Action{Name: name, Timeout: 30 * time.Second}
		err := assign(map[string]setting{"run": arguments(&act.Run), "timeout": span(&act.Timeout, 10*time.Millisecond, time.Hour), "user": text(&act.User, nil)}, file, entries)
		if err == nil && len(act.Run) == 0 {
			err = fmt.Errorf("action %s: run is missing", name)
		}
		a.Actions = append(a.Actions, act)
		return err
	})
}

// named parses a section whose keys are names, each with a section of its own.
func named(file string, value ast.Node, take func(name string, entries []*ast.MappingValueNode) error) error {
	names, err := sectionOf(file, value)
	if err != nil {
		return err
	}
	for _, e := range names {
		key := e.Key.GetToken()
		err := CheckName(key.Value)
		var entries []*ast.MappingValueNode
		if err == nil {
			entries, err = sectionOf(file, e.Value)
		}
		if err == nil {
			err = take(key.Value, entries)
		}
		if _, positioned := errors.AsType[*Error](err); err != nil && !positioned {
			err = errorAt(file, key, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
