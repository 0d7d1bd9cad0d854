package wire

import (
	"fmt"
	"slices"
	"strconv"
)

// Code is the answer of a server, the state of a connection in a pong, or the reason of a notice.
// Each kind of message uses some of the codes.
type Code uint16

// The codes. Notices have Global, NoQuorum, Orphaned (CH-68), Stale, OtherMaster and Draining.
const (
	OK            Code = iota
	Global             // this incarnation of the client was evicted from all servers
	NoQuorum           // the server is cut off from most others
	MasterDead         // the master that was named is dead
	Stale              // a later incarnation of the client is known: Message.Incarnation
	OldEpoch           // a later choice of a master is known: Message.Epoch
	NotConnected       // the server does not know the client
	Busy               // the client's earlier incarnation is being evicted: try again later
	Orphaned           // the client's master, Message.Server, is dead, or has not confirmed that it watches over the client
	OtherMaster        // the client's master is Message.Server
	Full               // no room for more clients
	Flapping           // the client connects too often
	StoreFailed        // the connection cannot be recorded
	Draining           // the server takes no clients as their master
	UnknownServer      // the master that was named is not a server
	BadClaim           // the token, which signs a claim, does not prove that the named master agreed
	Foreign            // the client is connected from another node
	Newer              // in the answer to an eviction: a later incarnation of the client is connected
	Ahead              // the number of the client's incarnation is far above the wall clock, so a clock is wrong; or the epoch of its choice of a master is above 8388607
	OtherTimes         // T_evict of the server, in ms in Message.Epoch, is too short for the client's times
	OtherKey           // the connect request is not signed with a key of the server
	Codes              // number of codes
)

var codeNames = [Codes]string{
	"ok", "global", "no-quorum", "master-dead", "stale", "old-epoch", "not-connected", "busy", "orphaned", "other-master", "full",
	"flapping", "store-failed", "draining", "unknown-server", "bad-claim", "foreign", "newer", "ahead",
	"other-times", "other-key",
}

// String returns the name of the code.
func (c Code) String() string { return name(codeNames[:], uint64(c)) }

// MarshalText implements encoding.TextMarshaler.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Code) UnmarshalText(text []byte) error { return unmarshal(c, codeNames[:], text) }

// Cause is why a client was evicted.
type Cause uint8

// The causes.
const (
	TimedOut    Cause = iota // the master has received no message of the client for T_evict
	Rebooted                 // the client has connected again, in a new incarnation
	ByAdmin                  // an administrator has ordered the eviction
	LostMaster               // the client's master died, and the client did not name another one within T_orphan
	LostQuorum               // this server is cut off from most others
	Left                     // the client has disconnected
	NeverStored              // the client's connection could not be recorded
	Causes                   // number of causes
)

var causeNames = [Causes]string{
	"timed-out", "rebooted", "by-admin", "lost-master", "lost-quorum", "left", "never-stored",
}

// CauseNames returns the names of all causes.
func CauseNames() []string { return slices.Clone(causeNames[:]) }

// String returns the name of the cause.
func (c Cause) String() string { return name(causeNames[:], uint64(c)) }

// MarshalText implements encoding.TextMarshaler.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Cause) UnmarshalText(text []byte) error { return unmarshal(c, causeNames[:], text) }

// name returns the word for a number, or the number as text if there is no word.
func name(words []string, i uint64) string {
	if i < uint64(len(words)) {
		return words[i]
	}
	return "?" + strconv.FormatUint(i, 10) + "?"
}

// unmarshal sets a number from its word.
func unmarshal[T ~uint8 | ~uint16](to *T, words []string, text []byte) error {
	i := slices.Index(words, string(text))
	if i < 0 {
		return fmt.Errorf("health: no such word as %q", text)
	}
	*to = T(i)
	return nil
}
