package selftest

import (
	"ulnet/cmd/internal/control"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
)

// The operations of selftest: the first three are of the test node, the others are of the console.
var (
	OpStatus     = control.Question[control.None, selftest.Status]{Path: "/v1/selftest", Doc: "the session and the counters of the test node"}
	OpLatencies  = control.Question[control.None, []selftest.Latency]{Path: "/v1/selftest/latencies", Doc: "how many RPCs of the test node as client took how long, since its start"}
	OpJoin       = control.Command[JoinRequest, selftest.Joined]{Path: "/v1/selftest/join", Doc: "has the test node join the session of a console at another node", Long: true}
	OpSession    = control.Question[control.None, console.Session]{Path: "/v1/selftest/session", Doc: "the session of the console"}
	OpNewSession = control.Command[NewSessionRequest, console.Session]{Path: "/v1/selftest/session/new", Doc: "makes the session of the console", Long: true}
	OpEndSession = control.Command[control.None, []console.Answer]{Path: "/v1/selftest/session/end", Doc: "ends the session of the console, whatever its key", Long: true}
	OpStat       = control.Command[AskRequest, []console.Answer]{Path: "/v1/selftest/stat", Doc: "asks test nodes for their counters", Long: true}
	OpPing       = control.Command[AskRequest, []console.Answer]{Path: "/v1/selftest/ping", Doc: "asks test nodes which sessions they have", Long: true}
)

// The operations on groups of test nodes.
var (
	OpGroups       = control.Question[control.None, []console.Group]{Path: "/v1/selftest/groups", Doc: "the groups, without their nodes"}
	OpGroup        = control.Question[Named, console.Group]{Path: "/v1/selftest/group", Doc: "one group with its nodes", Unasked: "is about one group"}
	OpAddGroup     = control.Command[GroupRequest, []console.Answer]{Path: "/v1/selftest/group/add", Doc: "makes a group and adds nodes to it", Long: true}
	OpAddNodes     = control.Command[GroupRequest, []console.Answer]{Path: "/v1/selftest/group/extend", Doc: "adds nodes to a group", Long: true}
	OpRefreshGroup = control.Command[GroupRequest, []console.Answer]{Path: "/v1/selftest/group/refresh", Doc: "asks nodes of a group that are not active to join the session", Long: true}
	OpCleanGroup   = control.Command[CleanRequest, []console.Answer]{Path: "/v1/selftest/group/clean", Doc: "removes nodes in some states from a group", Long: true}
	OpRemoveNodes  = control.Command[GroupRequest, []console.Answer]{Path: "/v1/selftest/group/remove", Doc: "removes nodes from a group", Long: true}
	OpDeleteGroup  = control.Command[GroupRequest, []console.Answer]{Path: "/v1/selftest/group/del", Doc: "deletes a group", Long: true}
)

// The operations on batches of tests.
var (
	OpBatches  = control.Question[control.None, []console.Batch]{Path: "/v1/selftest/batches", Doc: "the batches, without their nodes and tests"}
	OpBatch    = control.Question[Named, console.Batch]{Path: "/v1/selftest/batch", Doc: "one batch with its nodes and tests", Unasked: "is about one batch"}
	OpAddBatch = control.Action[BatchRequest]{Path: "/v1/selftest/batch/add", Doc: "makes a batch"}
	OpAddTest  = control.Command[TestRequest, []console.Answer]{Path: "/v1/selftest/batch/test", Doc: "adds a test to a batch", Long: true}
	OpRun      = control.Command[BatchRequest, []console.Answer]{Path: "/v1/selftest/batch/run", Doc: "starts the tests of a batch", Long: true}
	OpStop     = control.Command[BatchRequest, []console.Answer]{Path: "/v1/selftest/batch/stop", Doc: "stops the tests of a batch", Long: true}
	OpQuery    = control.Command[BatchRequest, []console.Answer]{Path: "/v1/selftest/batch/query", Doc: "asks the clients of a batch what is running", Long: true}
)
