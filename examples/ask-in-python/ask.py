#!/usr/bin/env python3
"""Asks whether a command may run, and runs it only then: APPROVALBOT_TOKEN=… ask.py CMD [ARG...]
The desk is APPROVALBOT_SERVER, or the one on this machine. Exit status: the command's
own, or 10 denied, 11 expired, 12 withdrawn, 1 anything else: not run.
"""
import http.client, json, os, secrets, signal, subprocess, sys, time, urllib.error, urllib.request

URL = os.environ.get("APPROVALBOT_SERVER", "http://127.0.0.1:8787").rstrip("/") + "/v1/approvals"
STOPS = (signal.SIGINT, signal.SIGTERM)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    redirect_request = lambda *_: None  # the token is for one server


def leave(*_):
    for s in STOPS:
        signal.signal(s, signal.SIG_IGN)  # once is enough
    raise KeyboardInterrupt


def not_run(code, why):
    print("ask.py: not run:", why, file=sys.stderr)
    sys.exit(code)


def post(path, body, tries=4):
    """It may be sent again: the ids see to that."""
    headers = {"Authorization": "Bearer " + os.environ["APPROVALBOT_TOKEN"], "Content-Type": "application/json"}
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.build_opener(NoRedirects).open(request, timeout=90) as answer:
            return json.load(answer)
    except (OSError, http.client.HTTPException) as e:
        if tries == 1 or isinstance(e, urllib.error.HTTPError) and e.code not in (429, 502, 503, 504):
            raise
        time.sleep(1)
        return post(path, body, tries - 1)


def ask(argv):
    params = {"argv": argv, "workdir": os.getcwd()}
    request, claim = {"id": "ask-" + secrets.token_hex(16), "toolName": "exec", "params": params}, secrets.token_hex(16)
    wait = ""
    try:
        while (answer := post("?%sclaim=1&claimId=%s" % (wait, claim), request))["status"] == "pending":
            if not wait:
                print("ask.py: waiting for approval %s; Ctrl-C withdraws it" % answer["code"], file=sys.stderr)
            wait = "wait=55s&"
    except KeyboardInterrupt:  # nobody waits any more, so nobody is to be asked
        post("/" + request["id"] + "/withdraw", {"reason": "interrupted"})
        not_run(12, "interrupted; the request is withdrawn")
    if answer["status"] != "approved":
        codes = {"denied": 10, "expired": 11, "withdrawn": 12}
        not_run(codes.get(answer["status"], 1), "%s %s" % (answer["status"], answer.get("reason", "")))
    if answer["claim"]["toolName"] != "exec" or answer["claim"]["params"] != params:
        not_run(1, "no claim of this very call")  # only a claim says what may run
    try:
        code = subprocess.run(answer["claim"]["params"]["argv"], cwd=params["workdir"]).returncode  # no shell
    except OSError:
        code = 127
    code = 128 - code if code < 0 else code
    try:
        result = {"claimId": claim, "status": "failed" if code else "succeeded", "exitCode": code}
        post("/" + request["id"] + "/result", result)
    except Exception as e:
        print("ask.py: the result could not be reported:", e, file=sys.stderr)
    return code


len(sys.argv) > 1 and os.environ.get("APPROVALBOT_TOKEN") or sys.exit("usage: APPROVALBOT_TOKEN=… ask.py CMD [ARG...]")
for s in STOPS:
    signal.signal(s, leave)
try:
    sys.exit(ask(sys.argv[1:]))
except Exception as e:
    not_run(1, e.read().decode(errors="replace") if isinstance(e, urllib.error.HTTPError) else repr(e))
