#!/usr/bin/python3
"""org.freedesktop.Notifications for tests.

Prints READY, then a JSON line for each notification. Reads JSON lines: {"click": ID, "key": ACTION}
answers a notification as a person would. Ends when its input ends.
"""

import json
import sys

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

INTERFACE = "org.freedesktop.Notifications"
DISMISSED_BY_PERSON = 2
CLOSED_BY_CALL = 3


class Notifications(dbus.service.Object):
    last = 0

    @dbus.service.method(INTERFACE, in_signature="susssasa{sv}i", out_signature="u", byte_arrays=True)
    def Notify(self, app, replaces, icon, summary, body, actions, hints, timeout):
        if not replaces:
            self.last += 1
        number = int(replaces) or self.last
        print(
            json.dumps(
                {
                    "id": number,
                    "app": str(app),
                    "summary": str(summary),
                    "body": str(body),
                    "actions": [str(action) for action in actions],
                }
            ),
            flush=True,
        )
        return dbus.UInt32(number)

    @dbus.service.method(INTERFACE, out_signature="as")
    def GetCapabilities(self):
        return ["body", "actions", "persistence"]

    @dbus.service.method(INTERFACE, out_signature="ssss")
    def GetServerInformation(self):
        return ("capture", "forge-tests", "1", "1.2")

    @dbus.service.method(INTERFACE, in_signature="u")
    def CloseNotification(self, number):
        self.NotificationClosed(number, CLOSED_BY_CALL)

    @dbus.service.signal(INTERFACE, signature="us")
    def ActionInvoked(self, number, key):
        pass

    @dbus.service.signal(INTERFACE, signature="uu")
    def NotificationClosed(self, number, reason):
        pass


def main():
    DBusGMainLoop(set_as_default=True)
    bus = dbus.SessionBus()
    name = dbus.service.BusName(INTERFACE, bus, do_not_queue=True)
    service = Notifications(bus, "/org/freedesktop/Notifications")
    loop = GLib.MainLoop()

    def obey(source, condition):
        line = sys.stdin.readline()
        if not line:
            loop.quit()
            return False
        order = json.loads(line)
        service.ActionInvoked(order["click"], order["key"])
        service.NotificationClosed(order["click"], DISMISSED_BY_PERSON)
        return True

    GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, obey)
    print("READY", flush=True)
    loop.run()
    del name


if __name__ == "__main__":
    main()
