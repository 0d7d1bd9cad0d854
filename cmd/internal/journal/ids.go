package journal

// ID is the message id of the lines about an event. 'journalctl MESSAGE_ID=...' shows these lines,
// and 'journalctl -x' explains them.
type ID struct {
	ID    string // 128 bits in hexadecimal digits; never used again for another event
	Text  string // message of the lines, without the clock that gossip puts before it
	Event string // value of the attribute event; "": any
	Title string // what happened
	Help  string // what it means, and what to do
}

// IDs are the message ids. TestIDs looks for the statements that write the texts.
var IDs = []ID{
	{
		"e7df9917f97245639b135c8ba01b781c", "ready", "",
		"The node is ready",
		"lnetd has started: its NIs are up, peers can reach it, and the control socket answers.",
	},
	{
		"5b2a3bfa61f2409c9f0e4f4a7c1d86e3", "configuration reloaded", "",
		"The configuration was read again",
		"lnetd has applied what has changed in its configuration. The attribute changed says what.",
	},
	{
		"c0d81f27b53f4e06a7c98e6d5b1a9f42", "configuration not reloaded", "",
		"The configuration was not reloaded",
		"A file is not valid, a change could not be made, or a key has changed that needs a restart: the error says\nwhich, and in which line. Changes were taken back, but for those that the error calls not taken back.",
	},
	{
		"017a37ce1f5e430fa9f347d7d9000ba1", "stopping", "",
		"The node stops",
		"lnetd was told to end. It sends what waits, for some seconds at most.",
	},
	{
		"265d3c3409e44e989351783ae2308d40", "stopped", "",
		"The node has stopped",
		"lnetd has sent what waited, and ends.",
	},
	{
		"d49657258720456b825edee58af70384", "messages were not sent", "",
		"The node has stopped with messages that were not sent",
		"Peers did not take all messages in time. Their programs see time-outs.",
	},
	{
		"9340dfd1ee2946b5b83223fb9a5a8c65", "the link of an NI is down: messages take other NIs until it is back; see 'ip link' and 'lnetctl net show'", "",
		"An NI is down",
		"The network interface has no carrier, was set down, or lost its address. Messages take other NIs of this\nnode if there are any. 'lnetctl net show' and 'ip link' tell more.",
	},
	{
		"011692201eb54161ab257ad6e2acd87b", "the link of an NI is up again", "",
		"An NI is up again",
		"The network interface is back, and messages take it again.",
	},
	{
		"f8b4effd1c014603a40175e9fb3efe27", "peer failed", "",
		"A connection to a peer failed",
		"The connection was lost or could not be made, for the given reason. It is reported once for each peer and\nreason. 'lnetctl peer show -v 3' has the counters.",
	},
	{
		"f78bc2e0af834a57b4b3894b5fa8e859", "participant died", "",
		"A server is dead",
		"Gossip has heard nothing of this server for too long, by any path. 'gossipctl explain NID' shows why.",
	},
	{
		"12efdb0fe22943b8bb61057b5e691dbc", "participant is alive", "",
		"A server is alive",
		"Gossip hears of this server, for the first time or again.",
	},
	{
		"b2eabf72b30346299a9c274f3308c9e2", "no quorum", "",
		"This server is cut off from most others",
		"Half of the participants of gossip or more count as dead here: this server or its network has failed, or\nthey have. 'gossipctl status' lists them.",
	},
	{
		"aed3be1a3ba64ebaaf7972c97dee237e", "client health", "evicted",
		"A client was evicted",
		"All servers have forgotten this client for the given cause, and may give away what it held. It has to\nconnect again. 'lnetctl client history' has the cause.",
	},
	{
		"20fba340882a4d8dbe08a01529f4b904", "node left the zone", "",
		"A node left its zone",
		"Members of the zone have removed this node: it said so, or it is dead.",
	},
}
