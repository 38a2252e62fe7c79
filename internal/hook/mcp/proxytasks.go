package mcp

import (
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"approvalbot/internal/hook/ask"
)

const maxTasks = 4096 // that are kept

func isOfTask(method string) bool { return strings.HasPrefix(method, "tasks/") }

// taskOf is the task that an answer to a call says it began; empty if it began no task.
func taskOf(result []byte) string {
	var in struct {
		Type string `json:"resultType"` // from 2026-07-28 on
		ID   string `json:"taskId"`
		Task struct {
			ID string `json:"taskId"`
		} `json:"task"` // of 2025-11-25
	}
	if strict(result, &in) != nil {
		return ""
	}
	if in.Type == "task" {
		return in.ID
	}
	return in.Task.ID
}

// task is one of the client's tasks, for one method; empty means for all.
type task struct{ method, id string }

// key is the stored form of the task: of one size for ids of any length.
func (t task) key() task { return task{t.method, hashOf([]byte(t.id))} }

// keepTask notes a task that an allowed call began, or one for which a person allowed a method. A
// task that is not recorded asks.
func (x *relay) keepTask(t task) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.id != "" && len(x.tasks) < maxTasks {
		x.tasks[t.key()] = true
	}
}

// knowsTask reports whether a method of a task needs no question.
func (x *relay) knowsTask(t task) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.tasks[t.key()] || x.tasks[task{id: t.id}.key()]
}

// ofTask gives the params with which a request for a task reaches the server: its id alone. If no
// allowed call of this connection began the task, a person is asked, once for each method.
func (x *relay) ofTask(
	ctx context.Context, method string, raw jsontext.Value, meta members,
) (params []byte, got *ask.Allowed, err error) {
	var id string
	if strict(raw, &id) != nil || id == "" {
		return nil, nil, errors.New("the params must have a taskId that is text")
	}
	t, all := task{method, id}, members{"taskId": value(id)}
	if x.knowsTask(t) {
		return withMeta(nil, all, meta, true), nil, nil
	}
	done, free := x.turnOf("tasks/")
	if !free {
		return nil, nil, errors.New("not allowed: no call on this connection began the task, so a person must be " +
			"asked. Another such request waits already, or there were too many. Ask later")
	}
	defer done()
	said, allowed, err := x.askedBeside(ctx, method, members{"method": value(method), "params": value(all)})
	if err == nil && string(said["params"]) != string(value(all)) {
		err = errors.New("not allowed: the approval desk handed out another task")
	}
	if err != nil {
		return nil, nil, err
	}
	x.keepTask(t)
	return withMeta(nil, all, meta, true), &allowed, nil
}

// isOfKnownTask reports whether a message of the server belongs to no task, or to one whose state the
// client may see.
func (x *relay) isOfKnownTask(m *jsonrpc.Request) bool {
	if !strings.HasPrefix(m.Method, "notifications/tasks") {
		return true
	}
	var in struct {
		ID string `json:"taskId"`
	}
	if strict(m.Params, &in) == nil && x.knowsTask(task{"tasks/get", in.ID}) {
		return true
	}
	x.log("dropped the state of a task that no allowed call began")
	return false
}
