"""Asks the approval desk before a tool of an agent runs. One file, to copy; Python 3.9 and its standard library.

    desk = Desk(reasons={"bash": "reason"})  # APPROVALBOT_TOKEN, APPROVALBOT_SERVER; the model says why in that parameter

    @desk.guard                        # the tool runs only with a claim of the very call; else Denied is raised
    def bash(command, reason=""): ...

    desk.ask("bash", {"command": "ls"}, call_id="call_1")  # the same for a framework: gives the reason, or raises Denied
    desk.report("call_1", exit_code=0)                     # and how it ended, once it has

A guarded tool that raises has failed, with its returncode if the error has one. Whatever goes wrong is a deny.
"""
import functools, hashlib, http.client, inspect, json, os, time, urllib.error, urllib.request, uuid


class Denied(Exception):
    """The tool did not run; the text is for its model."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    redirect_request = lambda *_: None  # the token is for one server


class Desk:
    def __init__(self, server=None, token=None, session_key=None, reasons=None):
        """reasons names a tool's parameter in which its model says why: shown as its claim, and no part of the call."""
        self._reasons = reasons or {}
        server = server or os.environ.get("APPROVALBOT_SERVER", "http://127.0.0.1:8787")
        self._url = server.rstrip("/") + "/v1/approvals"
        self._token = token or os.environ.get("APPROVALBOT_TOKEN")
        self._session = session_key or str(uuid.uuid4())
        self._claims = {}  # by the call's id, until its result is reported
        if not self._token:
            raise ValueError("approvalbot: there is no API token; set APPROVALBOT_TOKEN")

    def ask(self, tool, params, call_id=None, justification=None):
        """Returns why it may run. call_id names the call: the same one again is the same question, and no second card."""
        call_id = call_id or str(uuid.uuid4())
        params = dict(params)
        said = params.pop(self._reasons.get(tool), None)
        justification = justification or (said[:500] if isinstance(said, str) else None)
        request = {"id": self._id(call_id), "toolName": tool, "params": params, "sessionKey": self._session,
                   "bind": {"workdir": os.getcwd()}}  # what runs elsewhere is another call
        if justification:
            request["justification"] = justification
        claim_id = str(uuid.uuid4())  # a model that names its call again gets no second run
        path = "?wait=55s&claim=1&claimId=" + claim_id
        try:
            while (answer := self._post(path, request))["status"] == "pending":
                pass
            if answer["status"] != "approved":
                by = ", ".join(d.removeprefix("person:") for d in answer.get("decidedBy", []))
                raise Denied("approvalbot: not run: %s%s: %s" % (answer["status"], by and " by " + by, answer.get("reason", "")))
            claim = answer.get("claim") or {}
            if claim.get("toolName") != tool or claim.get("params") != params:
                raise Denied("approvalbot: not run: no claim of this very call")
            self._claims[call_id] = claim_id
            return answer.get("reason") or "approved"
        except Denied:
            raise
        except urllib.error.HTTPError as e:
            raise Denied("approvalbot: not run: %s (%d)" % (e.read(2000).decode(errors="replace"), e.code)) from None
        except Exception as e:
            raise Denied("approvalbot: not run: the approval desk gave no answer (%s)" % type(e).__name__) from None

    def report(self, call_id, failed=False, exit_code=None):
        """Tells how an allowed call ended. It has run, so an error here is the desk's alone, and is not raised."""
        result = {"status": "failed" if failed or exit_code else "succeeded", "claimId": self._claims.pop(call_id, None)}
        if exit_code is not None:
            result["exitCode"] = exit_code
        try:
            if result["claimId"]:
                self._post("/%s/result" % self._id(call_id), result)
        except Exception:
            pass

    def _id(self, call_id):
        return hashlib.sha256(("%s\n%s" % (self._session, call_id)).encode()).hexdigest()

    def guard(self, function):
        """Decorates a tool: its name and its arguments, by their names, are what is asked for."""
        signature = inspect.signature(function)

        @functools.wraps(function)
        def guarded(*args, **kwargs):
            call = signature.bind(*args, **kwargs)
            call.apply_defaults()
            call_id = str(uuid.uuid4())
            self.ask(function.__name__, dict(call.arguments), call_id)
            try:
                result = function(*args, **kwargs)
            except BaseException as e:
                code = getattr(e, "returncode", None)
                self.report(call_id, failed=True, exit_code=code if isinstance(code, int) else None)
                raise
            self.report(call_id)
            return result

        return guarded

    def _post(self, path, body, tries=4):
        """It may be sent again: the ids see to that."""
        headers = {"Authorization": "Bearer " + self._token, "Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.build_opener(_NoRedirects).open(request, timeout=90) as answer:
                return json.load(answer)
        except (OSError, http.client.HTTPException) as e:
            if tries == 1 or isinstance(e, urllib.error.HTTPError) and e.code not in (429, 502, 503, 504):
                raise
            time.sleep(1)
            return self._post(path, body, tries - 1)
