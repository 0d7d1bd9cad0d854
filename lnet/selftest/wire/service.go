package wire

import "fmt"

// The portals of selftest. The first two are lazy: a request that finds no free buffer waits for one. A
// message to the third must be a reply or bulk data that its receiver expects from exactly this sender.
const (
	TestPortal      = 50 // requests of BRW and PING, the services that measure (SRPC_REQUEST_PORTAL)
	FrameworkPortal = 51 // requests of the console (SRPC_FRAMEWORK_REQUEST_PORTAL)
	BulkPortal      = 52 // replies and bulk data, by their 64-bit numbers (SRPC_RDMA_PORTAL)
)

// Service is the number of a service, which is also the match bits of its requests.
type Service uint32

// The services of a test node, except JoinService, which the console provides.
const (
	DebugService         Service = 0
	MakeSessionService   Service = 1
	RemoveSessionService Service = 2
	BatchService         Service = 3
	TestService          Service = 4
	StatService          Service = 5
	JoinService          Service = 6
	BRWService           Service = 11
	PingService          Service = 12
)

// firstTestService is the lowest number of services that measure. Services with lower numbers belong to
// the framework: their requests are those of consoles, and the JOIN requests of nodes to consoles.
const firstTestService Service = 10

// serviceInfo is the name of a service and the type of its requests.
type serviceInfo struct {
	name    string
	request Type
}

var services = map[Service]serviceInfo{
	DebugService: {"debug", TypeDebug}, MakeSessionService: {"make-session", TypeMakeSession},
	RemoveSessionService: {"remove-session", TypeRemoveSession}, BatchService: {"batch", TypeBatch},
	TestService: {"test", TypeTest}, StatService: {"stat", TypeStat}, JoinService: {"join", TypeJoin},
	BRWService: {"brw", TypeBRW}, PingService: {"ping", TypePing},
}

// String returns the name of the service, or "service 7".
func (s Service) String() string {
	if known, ok := services[s]; ok {
		return known.name
	}
	return fmt.Sprintf("service %d", uint32(s))
}

// Portal returns the portal that takes requests for the service.
func (s Service) Portal() uint32 {
	if s < firstTestService {
		return FrameworkPortal
	}
	return TestPortal
}

// Request returns the type of requests for the service, or false for an unknown service.
func (s Service) Request() (Type, bool) {
	known, ok := services[s]
	return known.request, ok
}

// Type is the type of a message: an even number for a request, and the next one for its reply.
type Type uint32

// The types of requests (enum srpc_msg_type). The method Reply returns the type of the
// reply to a request.
const (
	TypeMakeSession   Type = 0
	TypeRemoveSession Type = 2
	TypeBatch         Type = 4
	TypeStat          Type = 6
	TypeTest          Type = 8
	TypeDebug         Type = 10
	TypeBRW           Type = 12
	TypePing          Type = 14
	TypeJoin          Type = 16
	types             Type = 18 // number of types
)

var typeNames = [types / 2]string{
	"make-session", "remove-session", "batch", "stat", "test", "debug", "brw", "ping", "join",
}

// IsReply reports whether messages of the type are replies.
func (t Type) IsReply() bool { return t&1 != 0 }

// Reply returns the type of the reply to a request of type t.
func (t Type) Reply() Type { return t | 1 }

// String returns the name of the request, as "stat", with " reply" behind it for a reply, or
// "type 99".
func (t Type) String() string {
	switch {
	case t >= types:
		return fmt.Sprintf("type %d", uint32(t))
	case t.IsReply():
		return typeNames[t/2] + " reply"
	}
	return typeNames[t/2]
}

// Features are the features of a session. All its nodes and requests must have the same.
type Features uint32

// The features.
const (
	// BulkLength allows bulk data of any length and offset; without it, tests count in pages.
	BulkLength    Features = 1
	KnownFeatures Features = BulkLength // all features that this package knows
)
