package dissection

import (
	"fmt"
	"strings"
	"time"

	"ulnet/lnet/selftest/wire"
)

// Summary implements capture.Understood.
func (q *selftestRequest) Summary() string {
	return "selftest " + q.name() + selftestText(q.Body, q.Features) + odd(q.remarks)
}

// Summary implements capture.Understood.
func (p *selftestReply) Summary() string {
	name := strings.TrimSuffix(p.Type.String(), " reply")
	s := fmt.Sprintf("selftest %s reply to rpc %#x", name, p.id)
	if p.to != nil {
		s += fmt.Sprintf(" after %v", p.after.Round(time.Microsecond))
	} else {
		s += ", which is not in this capture"
	}
	return s + fmt.Sprintf(": %v", p.Status) + selftestText(p.Body, p.Features) + odd(p.remarks)
}

// selftestText returns the fields of a body that say the most, each after a comma.
func selftestText(body wire.Body, features wire.Features) string {
	switch b := body.(type) {
	case *wire.MakeSession:
		s := fmt.Sprintf(", session %v %q", b.Session, b.Name)
		if b.Force {
			s += ", force"
		}
		return s
	case *wire.MakeSessionReply:
		return sessionText(b.Session, b.Name) + fmt.Sprintf(", timeout %ds", b.Timeout)
	case *wire.DebugReply:
		return sessionText(b.Session, b.Name) + fmt.Sprintf(", timeout %ds", b.Timeout)
	case *wire.JoinReply:
		return sessionText(b.Session, b.Name) + fmt.Sprintf(", timeout %ds", b.Timeout)
	case *wire.Join:
		return sessionText(b.Session, "") + fmt.Sprintf(", group %q", b.Group)
	case *wire.Batch:
		return sessionText(b.Session, "") + batchText(b)
	case *wire.BatchReply:
		return sessionText(b.Session, "") + fmt.Sprintf(", active %d", b.Active)
	case *wire.Test:
		return sessionText(b.Session, "") + testText(b, features)
	case *wire.StatReply:
		return sessionText(b.Session, "") + statText(b)
	}
	return selftestShortText(body)
}

// selftestShortText returns the text of a body that has only one or two fields.
func selftestShortText(body wire.Body) string {
	switch b := body.(type) {
	case *wire.RemoveSession:
		return sessionText(b.Session, "")
	case *wire.RemoveSessionReply:
		return sessionText(b.Session, "")
	case *wire.Debug:
		return sessionText(b.Session, "")
	case *wire.Stat:
		return sessionText(b.Session, "")
	case *wire.TestReply:
		return sessionText(b.Session, "")
	case *wire.BRW:
		return fmt.Sprintf(", %v of %d bytes, check %v", b.Op, b.Length, b.Check)
	case *wire.Ping:
		return fmt.Sprintf(", sequence %d", b.Sequence) + magicText(b.Magic)
	case *wire.PingReply:
		return fmt.Sprintf(", sequence %d", b.Sequence) + magicText(b.Magic)
	}
	return ""
}

// sessionText returns the id of a session, and its name if it has one.
func sessionText(session wire.Session, name string) string {
	s := fmt.Sprintf(", session %v", session)
	if session == wire.NoSession() {
		s = ", no session"
	}
	if name != "" {
		s += fmt.Sprintf(" %q", name)
	}
	return s
}

func magicText(magic uint32) string {
	if magic == wire.PingMagic {
		return ""
	}
	return fmt.Sprintf(", magic %#x", magic)
}

func batchText(b *wire.Batch) string {
	s := fmt.Sprintf(", %v batch %d", b.Op, b.Batch)
	if b.Test != 0 {
		s += fmt.Sprintf(", test %d", b.Test)
	}
	if b.Op == wire.StopBatch && b.Argument != 0 {
		s += ", force"
	}
	return s
}

func testText(b *wire.Test, features wire.Features) string {
	s := fmt.Sprintf(", batch %d, server of %v", b.Batch, b.Service)
	if b.Client {
		s = fmt.Sprintf(", batch %d, client of %v, %d destinations", b.Batch, b.Service, b.Destinations)
	}
	if b.Service == wire.BRWService {
		s += brwText(&b.BRW, features)
	}
	return s + fmt.Sprintf(", loop %d, concurrency %d", b.Loop, b.Concurrency)
}

func brwText(p *wire.BRWParams, features wire.Features) string {
	if features&wire.BulkLength == 0 {
		return fmt.Sprintf(" %v of %d pages, check %v", p.Op, p.Pages, p.Check)
	}
	s := fmt.Sprintf(" %v of %d bytes, check %v", p.Op, p.Length, p.Check)
	if p.Offset != 0 {
		s += fmt.Sprintf(", offset %d", p.Offset)
	}
	return s
}

// statText returns the counters of errors that are not 0, and those of messages.
func statText(b *wire.StatReply) string {
	s := fmt.Sprintf(", running %v, RPCs sent %d, received %d", time.Duration(b.Framework.Running)*time.Millisecond, b.RPC.Sent, b.RPC.Received)
	for _, n := range []struct {
		what  string
		count uint32
	}{
		{"active batches", b.Framework.Batches},
		{"brw errors", b.Framework.BRWErrors},
		{"ping errors", b.Framework.PingErrors},
		{"rpc errors", b.RPC.Errors},
		{"dropped", b.RPC.Dropped},
		{"expired", b.RPC.Expired},
	} {
		if n.count > 0 {
			s += fmt.Sprintf(", %s %d", n.what, n.count)
		}
	}
	return s + fmt.Sprintf("; LNet sent %d, received %d", b.LNet.Sent, b.LNet.Received)
}
