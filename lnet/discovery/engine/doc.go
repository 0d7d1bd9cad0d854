// Package engine is the machine of discovery. It decides which nodes are asked for their NIDs
// and told ours, which listed NIDs are believed, and what is forgotten, as a function of the
// time and of the messages that arrive. Programs use package discovery, whose agent steps a
// machine for them and whose text describes the protocol. The machine is here for simulators
// and research that step it themselves.
//
// This package is unstable: names and fields change with the protocol's needs, without
// notice. What is sent does not, see package wire.
//
//	m := engine.NewMachine(engine.Limits{})
//	m.Step(now, engine.Input{Kind: engine.SelfIs, Self: self}, &out)
//	wake := m.Step(now, engine.Input{Kind: engine.Discover, NID: id}, &out) // then send out.Sends
//	wake = m.Step(wake, engine.Input{Kind: engine.Timer}, &out) // when it is time
package engine
