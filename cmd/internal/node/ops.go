package node

import (
	"ulnet/cmd/internal/control"
	"ulnet/lnet"
)

// maxListRequest is the largest request with a list of networks and gateways, or of NIDs, in bytes: it has room for
// route.MaxRoutes gateways, and for MaxPeersAtOnce peers.
const maxListRequest = 1 << 20

// The operations of a node on the control socket, besides those that stand in the file of their state, such as
// keys.go, and those of its modules.
var (
	OpStatus           = control.Question[control.None, Status]{Path: "/v1/status", Doc: "the node's state but its peers"}
	OpPeers            = control.Question[PeersRequest, PeerPage]{Path: "/v1/peers", Doc: "a page of the peers, or those of one node", Report: "?limit=1000"}
	OpAddPeer          = control.Action[AddPeerRequest]{Path: "/v1/peer/add", Doc: "configures a peer", Most: maxListRequest}
	OpRemovePeer       = control.Action[RemovePeerRequest]{Path: "/v1/peer/del", Doc: "removes a peer, or NIDs of it", Most: maxListRequest}
	OpPeerState        = control.Action[PeerStateRequest]{Path: "/v1/peer/state", Doc: "sets the state of a peer, for tests"}
	OpPing             = control.Command[PingRequest, PingReply]{Path: "/v1/ping", Doc: "pings a node"}
	OpDiscover         = control.Command[DiscoverRequest, DiscoverReply]{Path: "/v1/discover", Doc: "discovers a peer"}
	OpConnections      = control.Question[ConnectionsRequest, Connections]{Path: "/v1/connections", Doc: "the peers of a network and their connections", Unasked: "is about one network, and a report asks for each"}
	OpDistance         = control.Question[DistanceRequest, Distance]{Path: "/v1/distance", Doc: "how far away a NID is", Unasked: "is about one NID"}
	OpPath             = control.Question[PathRequest, lnet.Path]{Path: "/v1/path", Doc: "which path a message would take now, and why it would take no other", Unasked: "is about one NID"}
	OpHealth           = control.Action[HealthRequest]{Path: "/v1/health-value", Doc: "sets the health of interfaces"}
	OpSet              = control.Action[Setting]{Path: "/v1/set", Doc: "changes a tunable"}
	OpSetTogether      = control.Action[SetTogether]{Path: "/v1/set/together", Doc: "changes tunables of health, or numbers of router buffers, all or none"}
	OpConfigure        = control.Command[ConfigureRequest, RemovedNet]{Path: "/v1/lnet/configure", Doc: "configures LNet on the node, or takes it down"}
	OpTune             = control.Action[TuneRequest]{Path: "/v1/net/tune", Doc: "changes tunables of interfaces that run"}
	OpResetStats       = control.Action[control.None]{Path: "/v1/stats/reset", Doc: "makes the counters of the node begin at zero"}
	OpRouting          = control.Question[control.None, lnet.RouterSnapshot]{Path: "/v1/routing", Doc: "the node's state as a router"}
	OpAddNetworks      = control.Action[AddRequest]{Path: "/v1/net/add", Doc: "starts further networks"}
	OpRemoveNet        = control.Command[RemoveRequest, RemovedNet]{Path: "/v1/net/del", Doc: "stops a network"}
	OpRoutes           = control.Question[control.None, []RouteStatus]{Path: "/v1/routes", Doc: "the routes and their states"}
	OpAddRoutes        = control.Action[AddRoutesRequest]{Path: "/v1/route/add", Doc: "adds routes", Most: maxListRequest}
	OpRemoveRoute      = control.Action[RemoveRouteRequest]{Path: "/v1/route/del", Doc: "removes a route"}
	OpFail             = control.Action[FailRequest]{Path: "/v1/fault/fail", Doc: "makes messages fail"}
	OpAddFault         = control.Command[AddFault, AddedFault]{Path: "/v1/fault/add", Doc: "spoils messages"}
	OpEndFault         = control.Action[EndFault]{Path: "/v1/fault/end", Doc: "ends what fault/add began"}
	OpAddFaultRule     = control.Action[AddFaultRule]{Path: "/v1/fault/rule/add", Doc: "adds a drop or delay rule of LNet"}
	OpRemoveFaultRules = control.Command[RemoveFaultRules, RemovedFaultRules]{Path: "/v1/fault/rule/del", Doc: "removes drop or delay rules"}
	OpResetFaultRules  = control.Action[ResetFaultRules]{Path: "/v1/fault/rule/reset", Doc: "clears the counters of drop or delay rules"}

	OpSink  = control.Operation[SinkRequest, Step]{Path: "/v1/msg/sink", Doc: "takes messages, see Node.Sink"}
	OpPut   = control.Operation[PutRequest, Step]{Path: "/v1/msg/put", Doc: "sends the data, see Node.Put"}
	OpServe = control.Operation[ServeRequest, Step]{Path: "/v1/msg/serve", Doc: "lets others get the data, see Node.Serve"}
	OpGet   = control.Operation[GetRequest, Step]{Path: "/v1/msg/get", Doc: "gets what others serve, see Node.Get"}
)
