// Package telemetry measures an agent, and serves what it has measured, and whether the agent
// is well, to who is allowed to see it: docs/telemetry.md.
//
// A [Meter] counts by OpenTelemetry's SDK: hooks and hook tools by [Meter.Observe], which is
// a machine.Config.Observer, and transactions by [Meter.Store], which stands between the
// model and its store. What is a state rather than a count, such as the units by their
// status, is read when somebody asks. [Server] answers in the text format of Prometheus.
//
// Names follow OpenTelemetry's conventions: "unitd.hook.duration", in seconds. No attribute
// names a unit, so the number of series doesn't grow with the number of units.
package telemetry
