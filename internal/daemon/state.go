package daemon

import (
	"context"
	"time"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/platform"
	"approvalbot/internal/server/metrics"
)

// readyTime bounds what the store is asked to tell whether the desk is ready: probes
// give up soon, too.
const readyTime = time.Second

// gaugeTime bounds what a scrape waits for.
const gaugeTime = 2 * time.Second

// gauges registers the values that are read at each scrape. If a value cannot be
// read it is left out, which alerts can see.
func (d *Daemon) gauges() {
	d.Metrics.Gauges("approvalbot_", []metrics.Gauge{
		{Name: "ready", Help: "1 when this instance is ready for requests."},
		{Name: "pending_approvals", Help: "Approvals that wait for people."},
		{Name: "outbox_oldest_seconds", Help: "How long the message that waits longest has been due, in seconds."},
		{Name: "callbacks_given_up", Help: "Calls back to owners that were given up."},
		{Name: "log_records", Help: "Number of the newest record of the audit log."},
		{Name: "checkpoint_age_seconds", Help: "Age of the newest signed checkpoint of the audit log, in seconds."},
		{Name: "log_check_age_seconds", Help: "Age of the last check of the whole audit log and the rows, in seconds."},
		{Name: "log_check_ok", Help: "1 if that check found all as the desk wrote it."},
		{Name: "judgements_cut_short", Help: "Calls since the start that were not fully read, so that they ask."},
		{Name: "rows_not_believed", Help: "Rows of the store, met since the start, that the desk did not write."},
		{Name: "calendars_failing", Help: "Duty calendars that could not be read at the last try."},
		{Name: "duty_unknown", Help: "Rosters whose person on duty is unknown, so that all of their people are on duty."},
		{Name: "objective_seconds", Help: "The time in which people are to decide, in seconds."},
		{Name: "objective_share", Help: "The share of requests that people are to decide in that time, 0 to 1."},
		{Name: "drill_unreached_chats", Help: "Chats that got no card by the last scheduled drill."},
		{Name: "drill_age_seconds", Help: "How long ago the last scheduled drill that is over began, in seconds."},
		{Name: "channel_up", Help: "1 while an instance receives the updates of that chat platform.", Label: "channel",
			Values: d.botNames()},
	}, d.gauge)
}

// known is what the metrics count by.
func known(cfg config.Config, rules core.Rules) metrics.Known {
	return metrics.Known{Tools: effective.NamedTools(cfg), Agents: effective.NamedAgents(cfg), Objective: rules.Objective}
}

func (d *Daemon) gauge(name, label string) (float64, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTime)
	defer cancel()
	now := time.Now().UnixMilli()
	since := func(ms int64) float64 {
		if ms == 0 {
			return 0
		}
		return float64(now-ms) / 1000
	}
	aim := d.Gate.Rules().Objective
	switch name {
	case "ready":
		return truth(d.ready(ctx).Ready), true
	case "judgements_cut_short":
		return float64(d.Gate.Upkeep().CutShort()), true
	case "rows_not_believed":
		return float64(d.Store.Disbelieved()), true
	case "calendars_failing", "duty_unknown":
		return d.dutyTrouble(name), true
	case "channel_up":
		return truth(d.botState(ctx, label).Up), true
	case "objective_seconds":
		return aim.DecidedWithin.Seconds(), aim.DecidedWithin > 0
	case "objective_share":
		return aim.Share, aim.DecidedWithin > 0
	}
	if name == "drill_unreached_chats" || name == "drill_age_seconds" {
		last, found, err := d.Gate.Drills().LastDrill(ctx)
		if name == "drill_age_seconds" {
			return since(last.CreatedAtMs), found && err == nil
		}
		return float64(len(last.Missing)), found && err == nil
	}
	if name == "log_check_age_seconds" || name == "log_check_ok" {
		last, err := d.Store.LastChecked(ctx)
		if name == "log_check_ok" {
			return truth(last.Problem == ""), last.AtMs != 0 && err == nil
		}
		return since(last.AtMs), last.AtMs != 0 && err == nil
	}
	s, err := d.Store.Stats(ctx)
	switch name {
	case "pending_approvals":
		return float64(s.Pending), err == nil
	case "outbox_oldest_seconds":
		return since(s.OldestDueMs), err == nil
	case "callbacks_given_up":
		return float64(s.FailedCalls), err == nil
	case "log_records":
		return float64(s.LogHead), err == nil
	case "checkpoint_age_seconds":
		return since(s.LastCheckMs), err == nil && s.LastCheckMs != 0
	}
	return 0, false
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// ready reports whether the desk can serve requests. A chat that is down does
// not make it unready.
func (d *Daemon) ready(ctx context.Context) api.Ready {
	r := api.Ready{Ready: true, Store: "ok", Policy: "ok", Channels: map[string]api.Channel{}}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	if err := d.Store.Ping(ctx); err != nil {
		d.log.Error("the store does not answer; the desk reports that it is not ready", "reason", err)
		r.Ready, r.Store = false, "the store does not take writes; see the log"
	}
	if !d.Gate.Rules().Enabled {
		r.Policy = api.PolicyDisabled
	}
	if err := d.agreed(); err != nil {
		r.Ready, r.Policy = false, err.Error()
		if why := d.outdatedReason.Load(); why != nil {
			r.Policy += *why
		}
	}
	for _, name := range platform.Names() {
		r.Channels[name] = api.Channel{Detail: "off: no bot token"}
	}
	for name := range d.bots {
		s := d.botState(ctx, name)
		r.Channels[name] = api.Channel{Up: s.Up, Detail: s.Detail}
	}
	return r
}
