package engine

import (
	"fmt"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/portals/keyring"
)

// Config configures a [Machine]. The zero value of a field means its default.
type Config struct {
	// Zone names the zone. Messages of other zones are refused. Required.
	Zone string
	// Self is this node. Required.
	Self wire.ID
	// Bootstrap are the nodes that discovery asks first; none for the first node (MS-11).
	// Self among them is ignored.
	Bootstrap []wire.ID
	// Wall is the wall clock when the machine is first stepped, in the unit of incarnations.
	// Versions whose incarnation exceeds the wall clock by more than Ahead are refused, because
	// their owners could not refute them (MS-A2).
	Wall uint64
	// Ahead is how far incarnations may be ahead of the clock. Default 2^44: with
	// incarnations in nanoseconds clocks may differ by some hours.
	Ahead uint64
	// Table numbers the nodes: it keeps the id of each node, and the machine works with the
	// numbers. Machines of one zone that one goroutine steps may share a table. Nil: the
	// machine makes a table of its own.
	Table *Table
	// Wire makes the machine encode messages into Output.Buf. If it is false the machine outputs
	// messages as structs, which only machines that share its Table can read.
	Wire bool
	// Keys are the keys of the cluster. If there are any, each message carries an authentication
	// code made with a key, and messages without a valid code are refused (MS-A33).
	Keys keyring.Keys
	// Management are some members of the management zone. If there are any, this zone is a base
	// zone, whose delegates register with the management zone (MS-95). Otherwise this zone
	// stands alone.
	Management []wire.ID
	// Delegates is how many delegates a base zone has. Default 3.
	Delegates int
	// Supervisor makes this node guard base zones: it is a member of the management zone.
	Supervisor bool
	// Seed seeds all random choices, combined with Self.
	Seed uint64

	// Threshold is Θ: how many nodes must suspect a member before it is removed. Default
	// 2.
	Threshold int
	// Successors is K_s, the number of successors on the ring that the node keeps links to; at
	// least Θ (MS-39). Default 2.
	Successors int
	// Random is K_r, the number of random members that the node keeps links to. Default 3, at
	// least 2.
	Random int
	// Aggregation is τ: a node collects changes for this time before it sends them to its
	// neighbours. Default 200 ms.
	Aggregation time.Duration
	// Heartbeat is the time between two heartbeats to a neighbour, give or take a tenth.
	// Default 1 s.
	Heartbeat time.Duration
	// Timeout is how long a neighbour may be silent. Default 3.5 heartbeats.
	Timeout time.Duration
	// Retry is the time after which discovery first sends a request again; the later times are longer and
	// longer. Default 200 ms.
	Retry time.Duration
	// MaxMembers bounds the number of members in the view. Default 16384.
	MaxMembers int
	// MaxAttributes bounds the attributes of a node, as [Attribute.Size] counts.
	// Default 256 KiB, at most wire.MaxTable, and never more than wire.TableRoom(MaxMessage).
	MaxAttributes int
	// MaxKeys bounds how many attributes a node has, including deleted ones whose death
	// certificates are still kept. Default 8192, at most wire.MaxTableKeys.
	MaxKeys int
	// MaxMessage bounds the size of a message, in bytes. Default and at most 1 MiB, what LNet
	// carries. All nodes of a zone must have the same bound: a node drops messages that exceed its own.
	MaxMessage int
}

// Error says what is wrong with a configuration, or why something cannot be done, and what to
// do.
type Error struct {
	Why string // the text of the error
}

func (e *Error) Error() string { return "zone: " + e.Why }

func wrong(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

func orDefault[T int | uint64 | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}

// Filled checks the configuration and fills in the defaults. The error is a
// *[Error].
func (c Config) Filled() (Config, error) {
	c.Ahead = orDefault(c.Ahead, 1<<44)
	c.Threshold = orDefault(c.Threshold, 2)
	c.Successors = orDefault(c.Successors, max(2, c.Threshold))
	c.Random = orDefault(c.Random, 3)
	c.Aggregation = orDefault(c.Aggregation, 200*time.Millisecond)
	c.Heartbeat = orDefault(c.Heartbeat, time.Second)
	c.Timeout = orDefault(c.Timeout, c.Heartbeat*7/2)
	c.Retry = orDefault(c.Retry, 200*time.Millisecond)
	c.Delegates = orDefault(c.Delegates, 3)
	c.MaxMembers = orDefault(c.MaxMembers, 16384)
	c.MaxMessage = orDefault(c.MaxMessage, wire.MaxMessage)
	c.MaxAttributes = orDefault(c.MaxAttributes, min(256<<10, wire.TableRoom(c.MaxMessage)))
	c.MaxKeys = orDefault(c.MaxKeys, 8192)
	if why := c.wrong(); why != "" {
		return c, &Error{why}
	}
	if c.Table == nil {
		c.Table = NewTable(hardHistory*c.MaxMembers + c.MaxMembers + hardHistoryMin + 4*maxStrangers)
	}
	return c, nil
}

func (c *Config) wrong() string {
	switch {
	case c.Zone == "" || len(c.Zone) > wire.MaxZone || !wire.ValidName([]byte(c.Zone)):
		return fmt.Sprintf("a zone's name has 1 to %d printable bytes and no space, '=' or ','", wire.MaxZone)
	case !c.Self.IsValid():
		return "the id of the node itself is missing"
	case c.Threshold < 0:
		return "the threshold is 1 at least"
	case c.Successors < c.Threshold:
		return fmt.Sprintf("successors (%d) must not be less than the threshold (%d), or a node could fail unnoticed", c.Successors, c.Threshold)
	case c.Random < 2:
		return fmt.Sprintf("%d random neighbours do not make a connected overlay: use at least 2", c.Random)
	case c.Successors < 0 || c.Successors > 32 || c.Random > 32:
		return "there can be 32 successors and random neighbours at most"
	case c.Aggregation < time.Millisecond || c.Heartbeat < 10*time.Millisecond || c.Retry < time.Millisecond:
		return "aggregation and retry last 1 ms at least, and a heartbeat 10 ms"
	case c.Timeout < 2*c.Heartbeat:
		return fmt.Sprintf("the timeout (%v) must be two heartbeats (%v) at least", c.Timeout, 2*c.Heartbeat)
	case c.Delegates < 1 || c.Delegates > maxDelegates:
		return fmt.Sprintf("a zone has 1 to %d delegates", maxDelegates)
	case c.Ahead > 1<<62:
		return "incarnations can be 2^62 ahead of the clock at most"
	case c.MaxMembers < 2 || c.MaxMembers > 1<<20:
		return "the view has room for 2 to 1048576 members"
	case c.MaxMessage < wire.MinMessage || c.MaxMessage > wire.MaxMessage:
		return fmt.Sprintf("messages have %d to %d bytes", wire.MinMessage, wire.MaxMessage)
	case c.MaxAttributes < 0 || c.MaxAttributes > wire.TableRoom(c.MaxMessage):
		return fmt.Sprintf("the attributes of a node have %d bytes at most, so that they fit a message of %d bytes", wire.TableRoom(c.MaxMessage), c.MaxMessage)
	case c.MaxKeys < 0 || c.MaxKeys > wire.MaxTableKeys:
		return fmt.Sprintf("a node has %d attributes at most", wire.MaxTableKeys)
	}
	return ""
}
