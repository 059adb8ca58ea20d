"""The rules of Gatepost: no chat, HTTP, SQL, environment, wall clock."""
